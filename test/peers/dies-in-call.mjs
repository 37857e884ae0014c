/** Ends in the middle of its answer to a call, with a word on stderr. */
import { answer, serve } from "./base.mjs";

serve((message) => {
  if (message.method !== "tools/call") return answer(message);
  process.stdout.write('{"jsonrpc":"2.0","id":');
  console.error("out of luck");
  process.exitCode = 7;
  process.stdin.destroy();
});
