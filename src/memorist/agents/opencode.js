// Written by `memorist install opencode`; `memorist uninstall opencode` removes it.
import { spawn } from "node:child_process"

const command = COMMAND
const ask = (event, payload) =>
  new Promise((resolve) => {
    // Whatever goes wrong, opencode goes on without memory.
    const [program, ...words] = command.map((word) => (word === "EVENT" ? event : word))
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"], timeout: TIMEOUT })
    let text = ""
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (chunk) => (text += chunk))
    child.on("error", () => resolve(""))
    child.on("close", () => {
      try {
        resolve(text.trim() ? (JSON.parse(text).context ?? "") : "")
      } catch {
        resolve("")
      }
    })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(payload))
  })
const textOf = (parts) => (parts ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n")
export const Memorist = async ({ client, directory }) => {
  const briefs = new Map()
  return {
    "chat.message": async (input, output) => {
      const session = { session_id: input.sessionID, cwd: directory }
      const brief = briefs.has(input.sessionID) ? "" : await ask("SessionStart", session)
      briefs.set(input.sessionID, true)
      const notes = await ask("UserPromptSubmit", { ...session, prompt: textOf(output.parts) })
      const text = [brief, notes].filter(Boolean).join("\n")
      const first = output.parts.find((part) => part.type === "text")
      if (text && first) first.text = text + "\n\n" + first.text
    },
    "experimental.session.compacting": async (input, output) => {
      await ask("PreCompact", { session_id: input.sessionID, cwd: directory })
      const state = await ask("SessionStart", { session_id: input.sessionID, cwd: directory, source: "compact" })
      if (state) output.context.push(state)
    },
    "tool.execute.after": async (input, output) => {
      if (input.tool !== "bash") return
      const result = { exit_code: output.metadata?.exit ?? 0, stdout: output.output }
      const tool = { tool_name: "bash", tool_input: { command: input.args?.command }, tool_response: result }
      await ask("PostToolUse", { session_id: input.sessionID, cwd: directory, ...tool })
    },
    event: async ({ event }) => {
      if (event.type !== "session.idle") return
      const id = event.properties.sessionID
      const answer = await client.session.messages({ path: { id } })
      const last = (answer.data ?? []).filter((message) => message.info.role === "assistant").pop()
      await ask("Stop", { session_id: id, cwd: directory, last_assistant_message: textOf(last?.parts) })
    },
  }
}
