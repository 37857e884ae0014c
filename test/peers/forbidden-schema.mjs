/** Asks by schemas that the protocol forbids, and tells with what codes it was answered. */
import { answer, send, serve } from "./base.mjs";

const object = (properties, required) => ({
  type: "object",
  properties,
  required,
});
const SCHEMAS = [
  undefined,
  null,
  [],
  { type: "string" },
  object({ x: { type: "object", properties: {} } }),
  object({ x: { type: "array", items: { type: "object" } } }),
  object({ x: { type: ["string", "null"] } }),
  object({ x: { $ref: "https://example.com/x" } }),
  object({ x: { type: "integer", enum: [1, 2] } }),
  object({}, ["x"]),
];
const codes = [];
let call;
serve((message) => {
  if (message.method === "tools/call") {
    call = message.id;
    for (const [id, requestedSchema] of SCHEMAS.entries()) {
      send({
        id,
        method: "elicitation/create",
        params: { message: "Well?", requestedSchema },
      });
    }
  } else if (message.method !== undefined) answer(message);
  else {
    codes.push(message.error?.code ?? message.result?.["action"]);
    if (codes.length < SCHEMAS.length) return;
    send({ id: call, result: { content: [{ type: "text", text: codes.join(" ") }] } });
  }
});
