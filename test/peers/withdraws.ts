/** Asks, takes its question back after a moment, and answers without; or asks `again` first. */
import { answer, done, send, serve, type Message } from "./base.ts";

const asksAgain = process.argv.includes("again");
const requestedSchema = { type: "object", properties: { x: { type: "string" } } };
const ask = (id: string, message: string) =>
  send({ id, method: "elicitation/create", params: { message, requestedSchema } });
let call: Message["id"];

serve((message) => {
  if (message.id === "second") {
    const text = `answered: ${JSON.stringify(message.result)}`;
    send({ id: call, result: { content: [{ type: "text", text }] } });
  } else if (message.method === "tools/call") {
    call = message.id;
    ask("first", "First?");
    setTimeout(() => {
      send({ method: "notifications/cancelled", params: { requestId: "first" } });
      if (asksAgain) ask("second", "Second?");
      else send({ id: call, result: done });
    }, 1000);
  } else answer(message);
});
