/** A modern server whose results are of a type that the protocol does not know. */
import { send, serve } from "./base.mjs";

serve(({ id, method }) => {
  if (method === "server/discover") {
    send({ id, result: { supportedVersions: ["2026-07-28"], capabilities: {} } });
  } else if (id !== undefined) send({ id, result: { resultType: "task", content: [] } });
});
