/** Sends two questions in one breath, and tells what came back. */
import { answer, send, serve, type Message } from "./base.ts";

const requestedSchema = {
  type: "object",
  properties: { x: { type: "string" } },
  required: ["x"],
};
const answers: string[] = [];
let call: Message["id"];

serve((message) => {
  if (message.method === "tools/call") {
    call = message.id;
    const ask = (id: string, text: string) =>
      send({
        id,
        method: "elicitation/create",
        params: { message: text, requestedSchema },
      });
    ask("q1", "First?");
    ask("q2", "Second?");
  } else if (message.method !== undefined) answer(message);
  else {
    const { action, content } = message.result as {
      action: string;
      content?: { x: string };
    };
    answers.push(`${message.id} ${action} ${content?.x ?? ""}`.trim());
    if (answers.length < 2) return;
    send({
      id: call,
      result: { content: [{ type: "text", text: answers.sort().join(", ") }] },
    });
  }
});
