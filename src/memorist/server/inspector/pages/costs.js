// @ts-check
/** @import { Shown } from '../types.js' */
// What the requests of a thread cost, how much the provider's prompt cache served, and what broke its prefix.
import { html, useEffect, useState } from '../lib.js';
import * as f from '../format.js';
import { get, useView } from '../api.js';
import { breakWords, costSums, dollars, uncached } from '../compute.js';
import { Empty, Failure, Icon, Loading, Table, When } from '../parts.js';
import { useRefresh } from './overview.js';

const CODE = `context = memory.context(text, thread="talk")
answer = client.messages.create(**context.anthropic(), model=model)
memory.threads.report("talk", answer, pieces=context.pieces, model=model)`;

function Figures({ sums }) {
  return html`<dl class="figs">
      <div><dt>Requests</dt><dd>${f.num(sums.requests)}</dd></div>
      <div><dt>Input tokens</dt><dd>${f.num(sums.input)}</dd></div>
      <div><dt>From the cache</dt><dd>${f.share(sums.share)}</dd></div>
      <div><dt>Output tokens</dt><dd>${f.num(sums.output)}</dd></div>
      <div><dt>Cost</dt><dd>${dollars(sums.cost)}</dd></div>
      <div><dt>Lost to cache breaks</dt><dd>${dollars(sums.lostCost)}</dd></div>
    </dl>`;
}
const isPriced = (of) => of.cost !== null && of.cost !== undefined;
const Broken = ({ of }) =>
  html`<span class="warn"><${Icon} name="warn" /> ${breakWords(of)}</span>
    <p class="small ink2">
      ${f.plural(of.tokens, 'token')} processed again${isPriced(of) ? `, ${dollars(of.cost)}` : ''}
    </p>`;

export function Costs({ Top, main, params }) {
  const [state, set] = useState(/** @type {Shown} */ ({ items: null, error: null }));
  const got = useView('thread', { id: params.thread || '' }, { skip: !params.thread });
  const load = () => {
    if (params.thread)
      get('thread/requests', { id: params.thread }).then(
        (d) => set({ items: d.items, error: null }),
        (error) => set({ items: null, error }),
      );
  };
  useEffect(load, [params.thread]);
  useRefresh(load);
  const thread = got.data,
    user = thread && f.userOf(thread.ns);
  const reports = [...(state.items || [])].reverse();
  const sums = costSums(reports);
  return html`<${Top}
        crumbs=${[
          ...(user ? [{ text: user, href: f.link('user', { user }) }] : []),
          ...(thread ? [{ text: thread.title || f.shortId(thread.id), href: f.threadLink(thread.id) }] : []),
          'Cost',
        ]}
      >
        ${
          params.thread &&
          html`<a class="btn opt" href=${f.link('context', { thread: params.thread })}>See the next request</a>`
        }
      </${Top}>
      <main id="main" ref=${main} tabindex="-1">
        <h1>
          ${
            reports.length ? `${f.share(sums.share)} of the input tokens came from the prompt cache.` : 'Cost'
          }
        </h1>
        <p class="lead">
          ${
            sums.breaks
              ? `${f.plural(sums.breaks, 'request')} started differently from the previous one: ` +
                `${f.num(sums.lostTokens)} tokens had to be processed again.`
              : params.thread
                ? 'What the provider reported about each request in this thread, newest first.'
                : 'What the provider reported about each request in a thread.'
          }
        </p>
        ${state.error && html`<${Failure} error=${state.error} again=${load} />`}
        ${params.thread && !state.items && !state.error && html`<${Loading} />`}
        ${
          (!params.thread || (state.items && !reports.length)) &&
          html`<div style=${{ marginTop: '20px' }}>
            <${Empty} title=${params.thread ? 'No costs reported yet' : 'Open a thread to see its costs'} code=${CODE}>
              Your program reports the provider's usage after each request. Sessions and the proxy do this
              automatically.
            </${Empty}>
          </div>`
        }
        ${
          reports.length > 0 &&
          html`<${Figures} sums=${sums} />
            <section style=${{ marginTop: '24px' }}>
              <${Table}
                label="Requests"
                cols="56px minmax(68px,1fr) 56px 56px 66px 52px 60px minmax(88px,2fr)"
                heads=${[
                  'When',
                  'Model',
                  { text: 'Cached', right: true },
                  { text: 'Written', right: true },
                  { text: 'Uncached', right: true },
                  { text: 'Output', right: true },
                  { text: 'Cost', right: true },
                  'What broke the prefix',
                ]}
                rows=${reports.map((report, n) => ({ ...report, n: reports.length - n }))}
                keyOf=${(r) => String(r.n)}
                tint=${(r) => !!r.broken}
                cells=${(r) => [
                  html`<${When} at=${r.at} />`,
                  r.model || '–',
                  f.num(r.cached_tokens),
                  f.num(r.written_tokens),
                  f.num(uncached(r)),
                  f.num(r.output_tokens),
                  dollars(r.cost),
                  r.broken ? html`<${Broken} of=${r.broken} />` : r.n === 1 ? 'first request' : 'nothing',
                ]}
              />
            </section>
            <p class="small ink2">
              Prices come from the installed table, or from the file that MEMORIST_PRICES names on the
              server. A model without a price shows no cost.
            </p>`
        }
      </main>`;
}
