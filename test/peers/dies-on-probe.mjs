/** Ends when the first message is not `initialize`. */
import { answer, serve } from "./base.mjs";

let isInitialized = false;
serve((message) => {
  isInitialized ||= message.method === "initialize";
  if (!isInitialized) {
    console.error("Error: not initialized");
    process.exit(1);
  }
  answer(message);
});
