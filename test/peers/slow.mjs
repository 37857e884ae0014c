/**
 * Never answers a call; says on stderr what it was told instead. Given words, it sends them as
 * its progress: `slow.mjs half way`.
 */
import { answer, send, serve } from "./base.mjs";

const message = process.argv.slice(2).join(" ");
serve((it) => {
  if (it.method === "tools/call") {
    const { progressToken } = it.params._meta ?? {};
    const params = { progressToken, progress: 1, message };
    if (message) send({ method: "notifications/progress", params });
    console.error(`called ${it.id}`);
  } else if (it.id === undefined) console.error(JSON.stringify(it));
  else answer(it);
});
