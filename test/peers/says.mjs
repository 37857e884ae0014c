/**
 * Answers a call and a list with what it is given: `says.mjs <call> [list] [modern]`, each as
 * JSON, `{ "result": … }` or `{ "error": … }`.
 */
import { answer, send, serve } from "./base.mjs";

const [call = '{"result":{}}', list, era] = process.argv.slice(2);
serve((message) => {
  const { id, method } = message;
  if (method === "server/discover" && era === "modern") {
    send({ id, result: { supportedVersions: ["2026-07-28"], capabilities: {} } });
  } else if (method === "tools/call") send({ id, ...JSON.parse(call) });
  else if (method === "tools/list" && list) send({ id, ...JSON.parse(list) });
  else answer(message);
});
