// A stub of opencode: loads the plugin, calls its hooks with opencode's shapes, and prints what came out of them.
import { pathToFileURL } from "node:url"

const [path, directory] = process.argv.slice(2)
const answers = [
  { info: { role: "user" }, parts: [{ type: "text", text: "Add an index." }] },
  { info: { role: "assistant" }, parts: [{ type: "text", text: "We went with a partial index." }] },
]
const client = { session: { messages: async ({ path }) => ({ data: path.id === "s1" ? answers : [] }) } }
const { Memorist } = await import(pathToFileURL(path).href)
const hooks = await Memorist({ client, directory, project: {}, worktree: directory })

const prompt = async (sessionID, text) => {
  const output = { message: {}, parts: [{ type: "text", text }] }
  await hooks["chat.message"]({ sessionID }, output)
  return output.parts[0].text
}
const results = { hooks: Object.keys(hooks).sort() }
results.first = await prompt("s1", "Never write raw SQL in views.")
await hooks["tool.execute.after"](
  { tool: "bash", sessionID: "s1", callID: "c1", args: { command: "make migrate" } },
  { title: "", output: "error: relation users exists", metadata: { exit: 2 } },
)
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s1" } } })
await hooks.event({ event: { type: "session.updated", properties: {} } })
results.second = await prompt("s2", "Where may the SQL go?")
results.third = await prompt("s2", "Write a haiku about clouds")
const compacting = { context: [] }
await hooks["experimental.session.compacting"]({ sessionID: "s2" }, compacting)
results.compacting = compacting.context
console.log(JSON.stringify(results))
