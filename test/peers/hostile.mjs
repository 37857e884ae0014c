/** Puts what takes over a terminal into everything that a client may print. */
import { readFileSync } from "node:fs";
import { answer, send, serve } from "./base.mjs";

const file = new URL("hostile.json", import.meta.url);
const { text: HOSTILE } = JSON.parse(readFileSync(file, "utf8"));

const [fault = "result"] = process.argv.slice(2);
let call;
console.error(`\u001b]0;x\u0007${HOSTILE}`);
serve((message) => {
  if (message.method === "initialize") {
    const serverInfo = { name: HOSTILE, version: HOSTILE };
    const protocolVersion = fault === "version" ? HOSTILE : "2025-11-25";
    send({ id: message.id, result: { protocolVersion, capabilities: {}, serverInfo } });
  } else if (message.method !== "tools/call") {
    if (message.id === "question")
      send({
        id: call,
        result: {
          content: [
            { type: "text", text: JSON.stringify(message.result ?? message.error) },
          ],
        },
      });
    else answer(message);
  } else if (fault === "error") {
    send({ id: message.id, error: { code: -1, message: HOSTILE } });
  } else if (fault === "question") {
    call = message.id;
    const choices = {
      type: "string",
      title: HOSTILE,
      description: HOSTILE,
      enum: [HOSTILE, "b"],
      enumNames: [HOSTILE, "b"],
      default: HOSTILE,
    };
    const requestedSchema = { type: "object", properties: { [HOSTILE]: choices } };
    send({
      id: "question",
      method: "elicitation/create",
      params: { message: HOSTILE, requestedSchema },
    });
  } else {
    const content = [{ type: "text", text: HOSTILE }, { type: HOSTILE }];
    send({ id: message.id, result: { content, isError: fault === "failure" } });
  }
});
