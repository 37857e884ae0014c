/** Sends two questions in one breath, or more, and tells what came back. */
import { answer, send, serve } from "./base.mjs";

const requestedSchema = {
  type: "object",
  properties: { x: { type: "string" } },
  required: ["x"],
};
const count = Number(process.argv[2] ?? 2);
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
    for (let n = 2; n <= count; n++) ask(`q${n}`, "Second?");
  } else if (message.method !== undefined) answer(message);
  else {
    const { action = message.error?.code, content } = message.result ?? {};
    answers.push(`${message.id} ${action} ${content?.x ?? ""}`.trim());
    if (answers.length < count) return;
    send({
      id: call,
      result: { content: [{ type: "text", text: answers.sort().join(", ") }] },
    });
  }
});
