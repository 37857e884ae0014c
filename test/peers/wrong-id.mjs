/** Answers under ids that nobody used, and at last under the right one. */
import { answer, done, send, serve } from "./base.mjs";

serve((message) => {
  if (message.method !== "tools/call") return answer(message);
  for (const id of [999, String(message.id), null, true])
    send({ id, result: { ...done, content: [] } });
  send({ error: { code: -32700, message: "which?" } });
  answer(message);
});
