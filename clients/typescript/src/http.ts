/** Sends requests, and says honestly what became of them. Every write carries an idempotency key: sent twice, done once. */

import { Forbidden, MemoristError, StoreTimeout, StoreUnavailable, UnknownOutcome, errorOf, type Problem } from "./errors.ts";

const TRIES = 3;
const BUSY = [429, 502, 503, 504];
/** How long a client waits by itself where the server says when to come back. */
const MOST_WAIT_SECONDS = 5;

export interface Settings {
  /** A key: rk_… */
  apiKey?: string;
  /** Only this user of the org: what they may see, with their profile in contexts. */
  user?: string;
  /** How long to wait for an answer. */
  timeoutMs?: number;
  /** What sends requests; `fetch` of the platform unless given. */
  fetch?: typeof fetch;
  /** Headers for every request, such as `memorist-scope` or `traceparent`. */
  headers?: Record<string, string>;
}

export interface CallOptions {
  /** The version that must be there; 0 for none yet. */
  expect?: number;
  /** The key under which a write is done once; made up unless given. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

/** One operation of the document. */
export interface Operation {
  method: string;
  path: string;
  /** Arguments that stand in the query as text. */
  query: readonly string[];
  /** Arguments that stand in the query as JSON. */
  json: readonly string[];
  body: boolean;
  writes: boolean;
  keyed: boolean;
  /** A 404 means that there is none. */
  found: boolean;
}

export interface Listed<T> {
  items: T[];
  /** Where the next page begins: give it as `after`. */
  next: unknown;
}

export interface ServerEvent {
  event: string;
  id: string;
  data: unknown;
}

export type Upload = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array>;

type Arguments = Record<string, unknown>;

function escaped(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

export class Http {
  readonly #url: string;
  readonly #settings: Settings;

  constructor(url: string, settings: Settings = {}) {
    this.#url = url.replace(/\/+$/, "");
    this.#settings = settings;
  }

  /** The answer to an operation: its result, a page, a record, or null where there is none. */
  async call(operation: Operation, args: object = {}, options: CallOptions = {}): Promise<unknown> {
    const [query, body] = placed(operation, args as Arguments);
    const headers: Record<string, string> = {};
    if (operation.body) headers["content-type"] = "application/json";
    if (operation.keyed) headers["idempotency-key"] = options.idempotencyKey ?? crypto.randomUUID();
    if (options.expect === 0) headers["if-none-match"] = "*";
    else if (options.expect !== undefined) headers["if-match"] = `"${options.expect}"`;
    const sent: RequestInit = { method: operation.method, headers };
    if (operation.body) sent.body = JSON.stringify(body);
    const answer = await this.#sent(operation, query, sent, options.signal);
    if (answer.status === 404 && operation.found) return null;
    if (!answer.ok) throw await errorFrom(answer);
    return unwrapped(await answer.json());
  }

  /** The lines of an answer as they come. */
  async *lines(operation: Operation, args: object = {}, options: CallOptions = {}, more: Record<string, string> = {}): AsyncGenerator<string> {
    const [query] = placed(operation, args as Arguments);
    const answer = await this.#once(operation, query, { method: operation.method, headers: more }, options.signal, false);
    if (!answer.ok) throw await errorFrom(answer);
    if (answer.body === null) return;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        const parts = (rest + value).split("\n");
        rest = parts.pop() ?? "";
        yield* parts;
      }
      if (rest !== "") yield rest;
    } finally {
      await reader.cancel();
    }
  }

  /** Server-sent events; a line that begins with a colon says that the server is still there. */
  async *events(operation: Operation, args: object = {}, options: CallOptions & { lastEventId?: string } = {}): AsyncGenerator<ServerEvent> {
    const more: Record<string, string> = { accept: "text/event-stream" };
    if (options.lastEventId !== undefined) more["last-event-id"] = options.lastEventId;
    let fields: Record<string, string> = {};
    for await (const line of this.lines(operation, args, options, more)) {
      if (line === "") {
        if (fields["data"] !== undefined) {
          yield { event: fields["event"] ?? "message", id: fields["id"] ?? "", data: JSON.parse(fields["data"]) };
        }
        fields = {};
      } else if (!line.startsWith(":")) {
        const place = line.indexOf(": ");
        fields[line.slice(0, place)] = line.slice(place + 2);
      }
    }
  }

  /** Send a long body, once. */
  async upload(operation: Operation, type: string, content: Upload, args: object = {}, options: CallOptions = {}): Promise<unknown> {
    const [query] = placed(operation, args as Arguments);
    const sent: RequestInit & { duplex?: string } = { method: operation.method, headers: { "content-type": type }, body: content };
    if (content instanceof ReadableStream) sent.duplex = "half";
    const answer = await this.#once(operation, query, sent, options.signal, false);
    if (!answer.ok) throw await errorFrom(answer);
    return unwrapped(await answer.json());
  }

  /** One request, tried again where that cannot do a thing twice. */
  async #sent(operation: Operation, query: URLSearchParams, sent: RequestInit, signal?: AbortSignal): Promise<Response> {
    for (let tries = 1; ; tries++) {
      let wait = 0;
      try {
        const answer = await this.#once(operation, query, sent, signal, true);
        if (!BUSY.includes(answer.status) || tries === TRIES) return answer;
        wait = Number(answer.headers.get("retry-after") ?? 0);
        if (wait > MOST_WAIT_SECONDS) return answer;
        await answer.body?.cancel();
      } catch (problem) {
        if (tries === TRIES || signal?.aborted === true) throw problem;
      }
      await new Promise((done) => setTimeout(done, Math.max(wait * 1000, 75 * 4 ** (tries - 1) * (0.5 + Math.random()))));
    }
  }

  async #once(operation: Operation, query: URLSearchParams, sent: RequestInit, signal: AbortSignal | undefined, timed: boolean): Promise<Response> {
    const settings = this.#settings;
    const text = query.toString();
    const headers = new Headers({ accept: "application/json", ...settings.headers, ...(sent.headers as Record<string, string>) });
    // Header values are ASCII, so other letters are escaped as JSON allows.
    if (settings.user !== undefined) headers.set("memorist-scope", JSON.stringify({ user: settings.user }).replace(/[^\x20-\x7e]/g, escaped));
    if (settings.apiKey !== undefined) headers.set("authorization", `Bearer ${settings.apiKey}`);
    const limits = timed ? [AbortSignal.timeout(settings.timeoutMs ?? 30_000)] : [];
    const until = AbortSignal.any([...limits, ...(signal ? [signal] : [])]);
    try {
      return await (settings.fetch ?? fetch)(`${this.#url}${operation.path}${text === "" ? "" : `?${text}`}`, { ...sent, headers, signal: until });
    } catch (cause) {
      if (signal?.aborted === true) throw cause;
      throw lost(operation.writes, cause);
    }
  }
}

/** A read can be asked again; of a write nobody knows whether it was done. */
function lost(writes: boolean, cause: unknown): MemoristError {
  const late = cause instanceof DOMException && cause.name === "TimeoutError";
  const what = late ? "the server did not answer in time" : "the connection to the server broke or was refused";
  if (writes) return new UnknownOutcome(`${what}; whether the write was done is not known`, {}, { cause });
  return late ? new StoreTimeout(what, {}, { cause }) : new StoreUnavailable(what, {}, { cause });
}

function placed(operation: Operation, args: Arguments): [URLSearchParams, Arguments] {
  const query = new URLSearchParams();
  const body: Arguments = {};
  for (const [name, value] of Object.entries(args)) {
    if (value === undefined) continue;
    if (operation.query.includes(name)) {
      if (value !== null) query.set(name, String(value));
    } else if (operation.json.includes(name)) query.set(name, JSON.stringify(value));
    else body[name] = value;
  }
  return [query, body];
}

function unwrapped(found: unknown): unknown {
  const object = typeof found === "object" && found !== null && Object.keys(found).length === 1 && "result" in found;
  return object ? found.result : found;
}

async function errorFrom(answer: Response): Promise<MemoristError> {
  let problem: Problem;
  try {
    problem = (await answer.json()) as Problem;
  } catch {
    return new StoreUnavailable(`the server answered with status ${answer.status} and no reason`);
  }
  if (answer.status === 401 || answer.status === 403) {
    return new Forbidden(problem.detail || problem.title, { request_id: problem.request_id });
  }
  return errorOf(problem);
}

/** Every item of a list, page by page: `for await (const fact of each((page) => memory.facts.list({ ns, ...page })))`. */
export async function* each<T>(list: (page: { after?: never }) => Promise<Listed<T>>): AsyncGenerator<T> {
  let page = await list({});
  for (;;) {
    yield* page.items;
    if (page.next === null || page.next === undefined) return;
    page = await list({ after: page.next as never });
  }
}
