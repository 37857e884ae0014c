/** Logs to stdout, where only messages belong. */
import { answer, serve } from "./base.mjs";

console.log("starting up…");
serve((message) => {
  console.log("{ oops");
  console.log("}");
  console.log("null");
  console.log("");
  answer(message);
});
