/** Sends two questions in one breath, and tells what came back. */
import { answer, send, serve } from "./base.mjs";

const requestedSchema = {
  type: "object",
  properties: { x: { type: "string" } },
  required: ["x"],
};
const answers = [];
let call;

serve((message) => {
  if (message.method === "tools/call") {
    call = message.id;
    const ask = (id, text) =>
      send({
        id,
        method: "elicitation/create",
        params: { message: text, requestedSchema },
      });
    ask("q1", "First?");
    ask("q2", "Second?");
  } else if (message.method !== undefined) answer(message);
  else {
    const { action, content } = message.result;

    answers.push(`${message.id} ${action} ${content?.x ?? ""}`.trim());
    if (answers.length < 2) return;
    send({
      id: call,
      result: { content: [{ type: "text", text: answers.sort().join(", ") }] },
    });
  }
});
