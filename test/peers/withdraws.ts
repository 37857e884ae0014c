/** Asks, waits for a second, takes its question back and answers without. */
import { answer, done, send, serve } from "./base.ts";

serve((message) => {
  if (message.method !== "tools/call") return answer(message);
  const requestedSchema = { type: "object", properties: { x: { type: "string" } } };
  send({
    id: "q",
    method: "elicitation/create",
    params: { message: "Well?", requestedSchema },
  });
  setTimeout(() => {
    send({
      method: "notifications/cancelled",
      params: { requestId: "q", reason: "never mind" },
    });
    send({ id: message.id, result: done });
  }, 1000);
});
