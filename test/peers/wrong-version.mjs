/** Answers `initialize` with a version that never was: the argument, or 1998-07-01. */
import { answer, send, serve } from "./base.mjs";

const [protocolVersion = "1998-07-01"] = process.argv.slice(2);
serve((message) => {
  if (message.method !== "initialize") return answer(message);
  const serverInfo = { name: "peer", version: "1.0.0" };
  send({ id: message.id, result: { protocolVersion, capabilities: {}, serverInfo } });
});
