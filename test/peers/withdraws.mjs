/**
 * Asks, takes its question back after a moment or at SIGUSR2, and answers without; or asks
 * `again` first; or answers and leaves the question `open`.
 */
import { answer, done, send, serve } from "./base.mjs";

const [how, seconds = 1] = process.argv.slice(2);
const requestedSchema = { type: "object", properties: { x: { type: "string" } } };
const ask = (id, message) =>
  send({ id, method: "elicitation/create", params: { message, requestedSchema } });
let call;

function goOn() {
  clearTimeout(timer);
  if (how !== "open")
    send({ method: "notifications/cancelled", params: { requestId: "first" } });
  if (how === "again") ask("second", "Second?");
  else send({ id: call, result: done });
}

let timer;
process.once("SIGUSR2", goOn);
serve((message) => {
  if (message.id === "second") {
    const text = `answered: ${JSON.stringify(message.result)}`;
    send({ id: call, result: { content: [{ type: "text", text }] } });
  } else if (message.method === "tools/call") {
    call = message.id;
    console.error(`pid ${process.pid}`);
    ask("first", "First?");
    timer = setTimeout(goOn, Number(seconds) * 1000);
  } else answer(message);
});
