// The file of a real MCP memory server, written by its own tools.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { rmSync } from "node:fs";

const file = process.argv[2];
rmSync(file, { force: true });
const transport = new StdioClientTransport({
  command: "node",
  args: ["node_modules/@modelcontextprotocol/server-memory/dist/index.js"],
  env: { ...process.env, MEMORY_FILE_PATH: file },
});
const client = new Client({ name: "samples", version: "1" });
await client.connect(transport);
const call = (name, args) => client.callTool({ name, arguments: args });
await call("create_entities", {
  entities: [
    { name: "Ada", entityType: "person", observations: ["lives in Berlin", "likes tea — 東京 👩‍💻"] },
    { name: "Acme", entityType: "company", observations: [] },
  ],
});
await call("create_relations", { relations: [{ from: "Ada", to: "Acme", relationType: "works at" }] });
await call("add_observations", { observations: [{ entityName: "Acme", contents: ["makes anvils"] }] });
await client.close();
