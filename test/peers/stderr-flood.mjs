/** Writes 1 MiB to stderr before each answer, the one to the probe included. */
import { writeSync } from "node:fs";
import { answer, serve } from "./base.mjs";

serve((message) => {
  // In pieces, and waiting for the reader: who does not read blocks this server for ever.
  for (let sent = 0; sent < 1024;) {
    try {
      writeSync(2, `${"x".repeat(1023)}\n`);
      sent++;
    } catch {
      // the pipe is full
    }
  }
  answer(message);
});
