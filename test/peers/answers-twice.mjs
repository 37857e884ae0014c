/** Sends each answer twice, and once more with another text. */
import { answer, done, send, serve } from "./base.mjs";

serve((message) => {
  answer(message);
  answer(message);
  if (message.id !== undefined) send({ id: message.id, result: { ...done, late: true } });
});
