// Run against a real server by test_typescript.py: what is written comes back, and errors are those of Python.
import { Conflict, Forbidden, InvalidNamespace, NotFound, Memorist, StoreUnavailable, each, type Fact } from "../../../clients/typescript/src/index.ts";

declare const process: { argv: string[]; exitCode: number };
const [url = "", apiKey = "", reader = ""] = process.argv.slice(2);
const memory = new Memorist(url, { apiKey });
const ns = "user:ada";

function same(found: unknown, wanted: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`${JSON.stringify(found)} is not ${JSON.stringify(wanted)}`);
}

async function fails(work: Promise<unknown>, kind: abstract new (...args: never[]) => Error): Promise<void> {
  const problem = await work.then(() => null, (error: unknown) => error);
  if (!(problem instanceof kind)) throw new Error(`${String(problem)} is not ${kind.name}`);
}

const fact: Fact = await memory.facts.set({ ns, key: "home/…?&", value: { city: "Lisbon" } });
same([fact.value, fact.version], [{ city: "Lisbon" }, 1]);
same((await memory.facts.get({ ns, key: "home/…?&" }))?.value, { city: "Lisbon" });
same(await memory.facts.get({ ns, key: "none" }), null);
await fails(memory.facts.set({ ns, key: "home/…?&", value: 1 }, { expect: 7 }), Conflict);
await fails(memory.facts.set({ ns: "nobody", key: "k", value: 1 }), InvalidNamespace);
await fails(new Memorist(url, { apiKey: "rk_x_y" }).facts.list({ ns }), Forbidden);
await fails(new Memorist(url, { apiKey: reader }).facts.set({ ns, key: "k", value: 1 }), Forbidden);
await fails(memory.threads.append({ id: "no such thread", messages: ["hi"] }), NotFound);

const once = { idempotencyKey: "one" };
same(await memory.state.increment({ key: "n" }, once), 1);
same(await memory.state.increment({ key: "n" }, once), 1);
same(await memory.state.increment({ key: "n", by: 2 }), 3);

await memory.threads.create({ ns, id: "talk" });
for (let number = 0; number < 7; number++) await memory.threads.append({ id: "talk", messages: [`message ${number}`, { role: "assistant", content: "yes" }] });
const texts: string[] = [];
for await (const message of each((page) => memory.threads.messages({ id: "talk", limit: 5, ...page }))) texts.push(message.role);
same(texts.length, 14);

await memory.records.put({ ns, key: ["a", 1], data: { n: 1 } });
same((await memory.records.scan({ ns, prefix: ["a"] })).items.map((one) => one.key), [["a", 1]]);
same((await memory.recall({ query: "Lisbon" })).items.length > 0, true);
const whole = await memory.context({ input: "hello", thread: "talk", budget: 500 });
same("account" in whole && whole.account.budget_tokens > 0, true);
const request = await memory.context({ input: "hello", thread: "talk", format: "openai", manifest: true });
same("messages" in request && request.messages.at(-1)?.role === "user" && request.manifest !== null, true);
const claude = await memory.context({ input: "hello", system: "Be brief.", format: "anthropic" });
same("messages" in claude && claude.format === "anthropic" && claude.system !== null, true);
const jose = new Memorist(url, { apiKey, user: "José 🎸" });
same((await jose.facts.set({ key: "city", value: "Porto" })).ns, "user:José 🎸");
same((await jose.memories.list()).items.length, 1);
await fails(jose.facts.list({ ns }), Forbidden);
await memory.batches.commit({ operations: [{ operation: "state.increment", arguments: { key: "n" } }] });
same((await memory.state.entry({ key: "n" }))?.value, 4);

const lines: string[] = [];
for await (const line of memory.transfers.export()) lines.push(line);
same(lines.length > 10, true);
same((await memory.transfers.import(lines.join("\n") + "\n")).rows, lines.length - 2);

for await (const told of memory.stream.follow({ names: "fact" }, { lastEventId: "another run-1" })) {
  if (told.event === "missed") await memory.facts.set({ ns, key: "heard", value: true });
  else {
    same(told.event, "fact");
    break;
  }
}

let tries = 0;
const cut: typeof fetch = async (input, init) => {
  const answer = await fetch(input, init);
  if (++tries === 1) throw new TypeError("the answer was cut off");
  return answer;
};
same(await new Memorist(url, { apiKey, fetch: cut }).state.increment({ key: "cut" }), 1);
same(tries, 2);
await fails(new Memorist("http://127.0.0.1:9").facts.list({ ns }), StoreUnavailable);
console.log("all is well");
