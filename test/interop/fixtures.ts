/**
 * Our server under the conformance suite: the tools that its scenarios call, behind our own
 * door, loop and seals. Questions for a model or for roots are questions like any other.
 */
import { formRequest } from "../../mcp/form.ts";
import { MISSING_CAPABILITY, type InputRequest } from "../../mcp/schema.ts";
import { RpcError } from "../../mcp/peer.ts";
import { serve } from "../../mcp/serve.ts";
import type { Tool, Tools } from "../../mcp/tool.ts";

const text = (text: string) => ({ content: [{ type: "text", text }] });

const form = (message: string, properties: object): InputRequest =>
  formRequest(message, { type: "object", properties, required: Object.keys(properties) });

const sampling: InputRequest = {
  method: "sampling/createMessage",
  params: {
    messages: [{ role: "user", content: { type: "text", text: "Capital of France?" } }],
    maxTokens: 100,
  },
};
const roots: InputRequest = { method: "roots/list", params: {} };
const confirm = form("Go on?", { ok: { type: "boolean" } });

function tool(
  description: string,
  call: Tool["call"],
  inputSchema: object = { type: "object" },
) {
  return { description, inputSchema, call };
}

/** Asks until every question has some object for an answer, and tells what came. */
function asking(questions: Record<string, InputRequest>, state?: unknown): Tool["call"] {
  return async (_args, { answers }) => {
    const isAnswered = (key: string) =>
      typeof answers[key] === "object" && answers[key] !== null;
    if (Object.keys(questions).every(isAnswered))
      return text(`state-ok ${JSON.stringify(answers)}`);
    return { questions, ...(state !== undefined && { state }) };
  };
}

/** One pixel, and one sample of silence. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQIAAAAAAA==";
const picture = { type: "image", data: PNG, mimeType: "image/png" };
const sound = { type: "audio", data: WAV, mimeType: "audio/wav" };
const file = {
  type: "resource",
  resource: { uri: "test://file", mimeType: "text/plain", text: "a file" },
};

const values = (prefix: string) => [1, 2, 3].map((n) => `${prefix}${n}`);
const titled = values("value").map((value) => ({
  const: value,
  title: `Title of ${value}`,
}));

const tools: Tools = {
  test_simple_text: tool("Returns a text", async () => text("a simple text")),
  test_image_content: tool("Returns a picture", async () => ({ content: [picture] })),
  test_audio_content: tool("Returns a sound", async () => ({ content: [sound] })),
  test_embedded_resource: tool("Returns a file", async () => ({ content: [file] })),
  test_multiple_content_types: tool("Returns a bit of all", async () => ({
    content: [...text("first").content, picture, file],
  })),
  test_sampling: tool("Asks a model", asking({ model: sampling })),
  test_error_handling: tool("Fails", async () => ({
    ...text("on purpose"),
    isError: true,
  })),
  test_logging_tool: tool("Logs nothing", async () => text("done")),
  test_elicitation: tool(
    "Asks for a user",
    async (args, round) => {
      const who = {
        username: { type: "string" },
        email: { type: "string", format: "email" },
      };
      return asking({ user: form(String(args["message"] ?? "Who?"), who) })(args, round);
    },
    { type: "object", properties: { message: { type: "string" } } },
  ),
  test_elicitation_sep1034_defaults: tool(
    "Asks with defaults",
    asking({
      defaults: form("Right?", {
        name: { type: "string", default: "John Doe" },
        age: { type: "integer", default: 30 },
        score: { type: "number", default: 95.5 },
        status: { type: "string", enum: ["active", "inactive"], default: "active" },
        verified: { type: "boolean", default: true },
      }),
    }),
  ),
  test_elicitation_sep1330_enums: tool(
    "Asks with every kind of choice",
    asking({
      enums: form("Which?", {
        untitledSingle: { type: "string", enum: values("option") },
        titledSingle: { type: "string", oneOf: titled },
        legacyEnum: { type: "string", enum: values("opt"), enumNames: values("Option ") },
        untitledMulti: {
          type: "array",
          items: { type: "string", enum: values("option") },
        },
        titledMulti: { type: "array", items: { anyOf: titled } },
      }),
    }),
  ),
  json_schema_2020_12_tool: tool(
    "Has a schema that must not be touched",
    async () => text("done"),
    {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: {
        address: {
          $anchor: "addressDef",
          type: "object",
          properties: { street: { type: "string" }, city: { type: "string" } },
        },
      },
      properties: {
        name: { type: "string" },
        address: { $ref: "#/$defs/address" },
        contactMethod: { type: "string", enum: ["phone", "email"] },
        phone: { type: "string" },
        email: { type: "string" },
      },
      allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
      if: {
        properties: { contactMethod: { const: "phone" } },
        required: ["contactMethod"],
      },
      then: { required: ["phone"] },
      else: { required: ["email"] },
      additionalProperties: false,
    },
  ),
  test_missing_capability: tool("Needs a model", asking({ model: sampling })),
  test_streaming_elicitation: tool("Asks", asking({ confirm })),
  test_input_required_result_elicitation: tool(
    "Asks for a name",
    asking({ user_name: form("Your name?", { name: { type: "string" } }) }),
  ),
  test_input_required_result_sampling: tool(
    "Asks a model",
    asking({ capital_question: sampling }),
  ),
  test_input_required_result_list_roots: tool(
    "Asks for roots",
    asking({ client_roots: roots }),
  ),
  test_input_required_result_multiple_inputs: tool(
    "Asks for three things at once",
    asking(
      {
        user_name: form("Your name?", { name: { type: "string" } }),
        greeting: sampling,
        client_roots: roots,
      },
      "some state",
    ),
  ),
  test_input_required_result_request_state: tool(
    "Asks with a state",
    asking({ confirm }, "once"),
  ),
  test_input_required_result_tampered_state: tool(
    "Asks with a state",
    asking({ confirm }, "once"),
  ),
  test_input_required_result_multi_round: tool("Asks twice", async (_args, { state }) => {
    if (state === undefined) {
      return {
        questions: { step1: form("Name?", { name: { type: "string" } }) },
        state: 1,
      };
    }
    if (state === 1) {
      return {
        questions: { step2: form("Colour?", { color: { type: "string" } }) },
        state: 2,
      };
    }
    return text("done");
  }),
  test_input_required_result_capabilities: tool(
    "Asks what it may",
    async (_args, { canAsk }) => {
      const wanted = Object.entries({ capital_question: sampling, confirm });
      const questions = Object.fromEntries(
        wanted.filter(([, question]) => canAsk(question)),
      );
      if (Object.keys(questions).length > 0) return { questions };
      throw new RpcError(MISSING_CAPABILITY, "nothing can be asked", {
        requiredCapabilities: { elicitation: { form: {} } },
      });
    },
  ),
};

await serve(tools, { name: "fixtures", version: "1.0.0" });
