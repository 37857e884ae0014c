/** Never answers a call; says on stderr what it was told instead. */
import { answer, serve } from "./base.ts";

serve((message) => {
  if (message.method === "tools/call") console.error(`called ${message.id}`);
  else if (message.id === undefined) console.error(JSON.stringify(message));
  else answer(message);
});
