/** Answers `initialize` and is gone. */
import { answer, serve } from "./base.mjs";

serve((message) => {
  answer(message);
  if (message.method === "initialize") process.exit(3);
});
