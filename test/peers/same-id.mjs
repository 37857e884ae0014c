/** Sends two pings under the id of a question that is open, before it answers the call. */
import { answer, send, serve } from "./base.mjs";

let call;
serve((message) => {
  if (message.method === "tools/call") {
    call = message;
    const requestedSchema = {
      type: "object",
      properties: { x: { type: "string", default: "y" } },
    };
    send({
      id: 1,
      method: "elicitation/create",
      params: { message: "Well?", requestedSchema },
    });
    send({ id: 1, method: "ping" });
    send({ id: 1, method: "ping" });
  } else if (message.result?.["action"] && call) answer(call);
  else answer(message);
});
