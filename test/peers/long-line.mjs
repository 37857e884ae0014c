/** Writes a line of 40 MiB before its answer to a call. */
import { answer, serve } from "./base.mjs";

const MiB = "x".repeat(1024 * 1024);
serve((message) => {
  if (message.method === "tools/call") {
    for (let sent = 0; sent < 40; sent++) process.stdout.write(MiB);
    process.stdout.write("\n");
  }
  answer(message);
});
