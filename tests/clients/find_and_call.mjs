// Finds and calls a tool of each server through the gateway, with the official TypeScript SDK.
//
//     find_and_call.mjs CASES ROOT stdio COMMAND [ARGUMENT…]
//     find_and_call.mjs CASES ROOT http URL
//
// Prints a line a case, and exits with 1 where one failed. It is run from the folder in which the
// SDK is installed.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.cwd()}/`);
const load = async (path) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${path}`)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");

const [casesPath, root, kind, ...rest] = process.argv.slice(2);
const cases = JSON.parse(readFileSync(casesPath, "utf8").replaceAll("ROOT", root));
const transport =
  kind === "http"
    ? new StreamableHTTPClientTransport(new URL(rest[0]))
    : new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env });

const client = new Client({ name: "find-and-call", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
const names = tools.map((tool) => tool.name);
let failed = names.slice(0, 3).join() === "find_tools,describe_tool,call_tool" ? 0 : 1;
for (const { query, tool, arguments: given, expect } of cases) {
  const found = await client.callTool({ name: "find_tools", arguments: { query } });
  const ids = JSON.parse(found.content[0].text).tools.map((one) => one.id);
  const called = await client.callTool({ name: "call_tool", arguments: { tool_name: tool, arguments: given } });
  const answer = called.content.map((part) => part.text ?? "").join(" ");
  const good = ids.includes(tool) && answer.includes(expect) && !called.isError;
  failed += good ? 0 : 1;
  const more = good ? "" : ` found ${ids}, answered ${answer.slice(0, 200)}`;
  console.log(`typescript ${kind}: ${tool}: ${good ? "ok" : "FAILED"}${more}`);
}
await client.close();
process.exit(failed ? 1 : 0);
