/** Asks, and asks again whatever is answered: `asks-forever.mjs [modern|invalid]`. */
import { answer, send, serve } from "./base.mjs";

const requestedSchema = {
  type: "object",
  properties: { x: { type: "string", default: "y" } },
};
const question = {
  method: "elicitation/create",
  params: { message: "Well?", requestedSchema },
};
const isModern = process.argv.includes("modern");
if (process.argv.includes("invalid")) requestedSchema.type = "string";
let asked = 0;

serve((message) => {
  if (isModern && message.method === "server/discover") {
    send({
      id: message.id,
      result: { supportedVersions: ["2026-07-28"], capabilities: {} },
    });
  } else if (isModern && message.method === "tools/call") {
    const inputRequests = { x: question };
    send({ id: message.id, result: { resultType: "input_required", inputRequests } });
  } else if (message.method === "tools/call" || message.method === undefined) {
    send({ id: `q${++asked}`, ...question });
  } else answer(message);
});
