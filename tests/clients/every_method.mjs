// Every method of the protocol through the gateway, with the official TypeScript SDKs: version 1
// (`sdk`, which knows no protocol after 2025-11-25) and version 2 (`client`), by the newest protocol
// and as older clients do.
//
//     every_method.mjs stdio COMMAND [ARGUMENT…]
//     every_method.mjs http URL
//
// Prints a line a method and protocol, and exits with 1 where one failed. It is run from the folder
// in which the SDKs are installed. The gateway has server-everything and tests/servers/notes.py
// behind, and lists `notes__translate_note` where that is there.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.cwd()}/`);
const load = path => import(pathToFileURL(require.resolve(`@modelcontextprotocol/${path}`)));
const [kind, ...rest] = process.argv.slice(2);

const CHANGING = "notes__translate_note";
const STATIC = "demo://resource/static/document/features.md";
const TEMPLATE = "demo://resource/dynamic/text/{resourceId}";
const PATIENCE = 60_000;
const METHOD_NOT_FOUND = -32601;

const transport = ({ StdioClientTransport, StreamableHTTPClientTransport }) =>
  kind === "http"
    ? new StreamableHTTPClientTransport(new URL(rest[0]))
    : new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env, stderr: "ignore" });

async function version1() {
  const { Client } = await load("sdk/client/index.js");
  const stdio = await load("sdk/client/stdio.js");
  const http = await load("sdk/client/streamableHttp.js");
  return { name: "sdk 1", isNewest: false, client: new Client({ name: "every", version: "1" }), transport: transport({ ...stdio, ...http }) };
}

async function version2(mode) {
  const whole = await load("client");
  const stdio = await load("client/stdio");
  const client = new whole.Client({ name: "every", version: "1" }, { versionNegotiation: { mode } });
  return { name: `client 2 ${mode}`, isNewest: mode === "auto", client, transport: transport({ ...whole, ...stdio }) };
}

// What the gateway tells by itself.
class Changes {
  heard = [];
  woken = () => {};
  constructor(client) {
    client.fallbackNotificationHandler = async ({ method, params }) => {
      this.heard.push(params?.uri ? `${method} ${params.uri}` : method);
      this.woken();
    };
  }
  async wait(...wanted) {
    const end = Date.now() + PATIENCE;
    while (!wanted.every(one => this.heard.includes(one))) {
      assert.ok(Date.now() < end, `waited for ${wanted}, heard ${this.heard}`);
      await new Promise(done => { this.woken = done; setTimeout(done, 100); });
    }
    this.heard.length = 0;
  }
}

async function refused(asked, ...codes) {
  let answer;
  try {
    answer = await asked;
  } catch (error) {
    assert.ok(codes.includes(error.code) || /not support/.test(error.message), `${error.code} ${error.message}`);
    return;
  }
  assert.fail(`expected one of ${codes}, found ${JSON.stringify(answer)}`);
}

const tests = {
  async begin({ client, isNewest }) {
    if (client.getNegotiatedProtocolVersion) {
      assert.equal(client.getNegotiatedProtocolVersion() >= "2026-07-28", isNewest);
    }
    assert.equal(client.getServerVersion().name, "toolroute");
    assert.match(client.getInstructions(), /find_tools/);
    const has = client.getServerCapabilities();
    assert.ok(has.tools.listChanged && has.prompts.listChanged && has.resources.listChanged, JSON.stringify(has));
    assert.ok(has.resources.subscribe && has.completions, JSON.stringify(has));
  },
  async ping({ client, isNewest }) {
    if (isNewest) await refused(client.ping(), METHOD_NOT_FOUND);
    else await client.ping();
  },
  async tools_list({ client }) {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.slice(0, 4).map(tool => tool.name), ["find_tools", "describe_tool", "call_tool", "read_more"]);
  },
  async tools_call({ client }) {
    const found = await client.callTool({ name: "find_tools", arguments: { query: "echo back the message that I send" } });
    assert.ok(JSON.parse(found.content[0].text).tools.some(tool => tool.id === "everything__echo"));
    const described = await client.callTool({ name: "describe_tool", arguments: { tool_name: "everything__echo" } });
    assert.match(described.content[0].text, /inputSchema/);
    const echo = { message: "one" };
    for (const params of [
      { name: "call_tool", arguments: { tool_name: "everything__echo", arguments: echo } },
      { name: "everything__echo", arguments: echo },
    ]) {
      const answer = await client.callTool(params);
      assert.match(answer.content[0].text, /one/);
    }
    const drawn = await client.callTool({ name: "call_tool", arguments: { tool_name: "everything__get-tiny-image" } });
    assert.ok(drawn.content.some(part => part.type === "image"));
    const unknown = await client.callTool({ name: "everything__no_such_tool", arguments: {} });
    assert.equal(unknown.isError, true);
  },
  async tools_call_progress({ client }) {
    const steps = [];
    const params = { name: "call_tool", arguments: { tool_name: "everything__trigger-long-running-operation", arguments: { duration: 1, steps: 4 } } };
    const options = { onprogress: ({ progress }) => steps.push(progress) };
    // Version 1 has the schema of the result before its options.
    const answer = await (client.listen ? client.callTool(params, options) : client.callTool(params, undefined, options));
    assert.ok(!answer.isError && steps.length >= 3, `${steps}`);
  },
  async prompts_list({ client }) {
    const names = (await client.listPrompts()).prompts.map(prompt => prompt.name);
    for (const name of ["everything__args-prompt", "notes__summarise"]) assert.ok(names.includes(name), `${names}`);
  },
  async prompts_get({ client }) {
    assert.ok((await client.getPrompt({ name: "everything__simple-prompt" })).messages.length);
    const given = await client.getPrompt({ name: "everything__args-prompt", arguments: { city: "Oslo" } });
    assert.match(given.messages[0].content.text, /Oslo/);
    await refused(client.getPrompt({ name: "everything__no-such-prompt" }), -32602);
  },
  async resources_list({ client }) {
    const uris = (await client.listResources()).resources.map(resource => resource.uri);
    assert.ok(uris.includes(STATIC) && uris.includes("note://today"), `${uris}`);
  },
  async resources_templates_list({ client }) {
    const templates = (await client.listResourceTemplates()).resourceTemplates.map(template => template.uriTemplate);
    assert.ok(templates.includes(TEMPLATE), `${templates}`);
  },
  async resources_read({ client }) {
    assert.match((await client.readResource({ uri: STATIC })).contents[0].text, /Features/);
    assert.ok((await client.readResource({ uri: "demo://resource/dynamic/blob/1" })).contents[0].blob);
    assert.equal((await client.readResource({ uri: "note://today" })).contents[0].text, "milk");
    await refused(client.readResource({ uri: "other://nowhere" }), -32002, -32602);
  },
  async completion({ client }) {
    const ref = { type: "ref/prompt", name: "everything__completable-prompt" };
    const done = await client.complete({ ref, argument: { name: "department", value: "E" } });
    assert.deepEqual(done.completion.values, ["Engineering"]);
    const argument = { name: "resourceId", value: "1" };
    const more = await client.complete({ ref: { type: "ref/resource", uri: TEMPLATE }, argument });
    assert.deepEqual(more.completion.values, ["1"]);
  },
  async logging_level({ client }) {
    // The gateway passes no logs on, and does not say that it would.
    assert.equal(client.getServerCapabilities().logging, undefined);
    await refused(client.setLoggingLevel("info"), METHOD_NOT_FOUND);
  },
  async resources_subscribe({ client, changes, isNewest }) {
    const told = "notifications/resources/updated note://today";
    if (isNewest) {
      await refused(client.subscribeResource({ uri: "note://today" }), METHOD_NOT_FOUND);
      const heard = await client.listen({ resourceSubscriptions: ["note://today"] });
      await changes.wait(told);
      await heard.close();
      return;
    }
    await client.subscribeResource({ uri: "note://today" });
    await changes.wait(told);
    await client.unsubscribeResource({ uri: "note://today" });
  },
  async lists_changed({ client, changes, isNewest }) {
    const learn = given => client.callTool({
      name: "call_tool", arguments: { tool_name: "notes__learn_translation", arguments: given },
    });
    const isListed = async wanted => {
      const end = Date.now() + PATIENCE;
      while ((await client.listTools()).tools.some(tool => tool.name === CHANGING) !== wanted) {
        assert.ok(Date.now() < end, `${CHANGING} listed: ${!wanted}`);
        await new Promise(done => setTimeout(done, 100));
      }
    };
    await learn({ forget: true });
    await isListed(false);
    changes.heard.length = 0;
    const lists = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
    const heard = isNewest ? await client.listen(lists) : undefined;
    await learn({ all: true });
    await changes.wait(...["tools", "prompts", "resources"].map(list => `notifications/${list}/list_changed`));
    await heard?.close();
    await isListed(true);
    await learn({ forget: true });
  },
};

let failed = 0;
for (const begin of [version1, () => version2("auto"), () => version2("legacy")]) {
  const one = await begin();
  one.changes = new Changes(one.client);
  await one.client.connect(one.transport);
  for (const [name, test] of Object.entries(tests)) {
    let said = "ok";
    try {
      await test(one);
    } catch (error) {
      failed += 1;
      said = `FAILED ${String(error.message).slice(0, 300)}`;
    }
    console.log(`typescript ${kind} ${one.name}: ${name}: ${said}`);
  }
  await one.client.close();
}
process.exit(failed ? 1 : 0);
