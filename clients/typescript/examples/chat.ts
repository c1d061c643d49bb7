// A chat with memory over HTTP: remembers what the user says, answers with it, and stores the turn.
//
//     memorist serve                                                     # prints the URL and a key
//     node clients/typescript/examples/chat.ts URL KEY [openai|anthropic] [provider's URL]
//
// Without a provider's URL it prints the request that would be sent, so it needs no other key.
import { Memorist, anthropicRequest, each, openaiRequest } from "../src/index.ts";

declare const process: { argv: string[]; env: Record<string, string | undefined> };
const [url = "", apiKey = "", format = "openai", provider = ""] = process.argv.slice(2);
const memory = new Memorist(url, { apiKey, user: "ada" });
const thread = "example-chat";

const understood = await memory.remember({ messages: "I am allergic to shellfish. I live in Lisbon." });
console.log("understood:", understood.stored.map((one) => one.text).join(" | "));

const question = "Where should I eat tonight?";
if ((await memory.threads.get({ id: thread })) === null) await memory.threads.create({ id: thread, ns: "user:ada" });
const args = { input: question, thread, system: "Answer in one sentence.", budget: 2000 };
const { body, tokens } = format === "anthropic" ? await anthropicRequest(memory, args) : await openaiRequest(memory, args);
console.log(`request: ${tokens} tokens, ${body.messages.length} messages`);
console.log("memory is in it:", JSON.stringify(body).includes("shellfish"));

const answer = provider ? await ask(body) : "Try the vegetarian place by the river.";
console.log("answer:", answer);
await memory.threads.append({ id: thread, messages: [question, { role: "assistant", content: answer }] });

for await (const one of each((page) => memory.memories.list(page))) console.log("remembered:", one.text);

/** Send the request to a provider and return the text of its answer. */
async function ask(request: object): Promise<string> {
  const key = process.env["PROVIDER_KEY"] ?? "none";
  const model = process.env["PROVIDER_MODEL"] ?? "none";
  const anthropic = format === "anthropic";
  const response = await fetch(`${provider}/v1/${anthropic ? "messages" : "chat/completions"}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(anthropic ? { "x-api-key": key, "anthropic-version": "2023-06-01" } : { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({ model, ...request, ...(anthropic ? { max_tokens: 500 } : {}) }),
  });
  if (!response.ok) throw new Error(`the provider answered ${response.status}: ${await response.text()}`);
  const data = await response.json();
  return anthropic ? data.content[0].text : data.choices[0].message.content;
}
