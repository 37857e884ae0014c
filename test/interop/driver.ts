/**
 * Our client under the conformance suite, which starts it with the URL of its server: our
 * session code, with the bridge in the server's place and a form filled in by its defaults.
 */
import { fileURLToPath } from "node:url";
import { connect } from "../../mcp/connect.ts";
import { fillDefaults } from "../../mcp/form.ts";
import { startProcess } from "../../mcp/process.ts";
import { ListToolsResult } from "../../mcp/schema.ts";

const bridge = fileURLToPath(new URL("bridge/stdio-to-http.ts", import.meta.url));
const session = await connect(
  () =>
    startProcess(bridge, process.argv.slice(2), {}, (text) => process.stderr.write(text)),
  {
    self: { name: "interop", version: "1.0.0" },
    answerer: {
      form: async ({ fields }) => {
        const content = fillDefaults(fields, {});
        const asked = fields.map(({ name }) => [name, content[name] ?? true]);
        return { action: "accept", content: Object.fromEntries(asked) };
      },
    },
    onNote: (note) => console.error(note),
  },
);
const call = (name: string, args = {}) =>
  session.request("tools/call", { name, arguments: args });

const { tools } = ListToolsResult.parse(await session.request("tools/list"));
switch (process.env["MCP_CONFORMANCE_SCENARIO"]) {
  case "tools_call":
    await call("add_numbers", { a: 5, b: 3 });
    break;
  case "elicitation-sep1034-client-defaults":
    await call("test_client_elicitation_defaults");
    break;
  case "sse-retry":
    await call("test_reconnection");
    break;
  case "json-schema-2020-12-preservation": {
    const tool = tools.find(({ name }) => name === "json_schema_2020_12_tool");
    await call("json_schema_echo", { schema: tool?.["inputSchema"] });
    break;
  }
  case "sep-2322-client-request-state": {
    const echo = call("test_mrtr_echo_state");
    await call("test_mrtr_unrelated"); // while the other waits for its answer
    await echo;
    await call("test_mrtr_no_state");
    await call("test_mrtr_no_result_type");
    break;
  }
  case "http-standard-headers":
    // Whatever is there, once; only that it is sent is judged.
    for (const { name } of tools) await call(name);
    for (const [kind, method, key] of [
      ["resources", "resources/read", "uri"],
      ["prompts", "prompts/get", "name"],
    ] as const) {
      const list = (await session.request(`${kind}/list`))[kind] as Record<
        string,
        string
      >[];
      for (const item of list) await session.request(method, { [key]: item[key] });
    }
}
await session.close();
