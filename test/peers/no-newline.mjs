/** Answers a call with 40 MiB that never become a line, and ends. */
import { answer, serve } from "./base.mjs";

const MiB = "x".repeat(1024 * 1024);
serve((message) => {
  if (message.method !== "tools/call") return answer(message);
  for (let sent = 0; sent < 40; sent++) process.stdout.write(MiB);
  process.stdin.destroy();
});
