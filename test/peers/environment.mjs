/** Its tool tells the names of the environment variables it was given, and its arguments. */
import { answer, send, serve } from "./base.mjs";

serve((message) => {
  if (message.method !== "tools/call") return answer(message);
  const text = JSON.stringify({
    env: process.env,
    argv: process.argv.slice(2),
    args: message.params?.["arguments"],
  });
  send({ id: message.id, result: { content: [{ type: "text", text }] } });
});
