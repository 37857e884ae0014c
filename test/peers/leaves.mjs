/**
 * Leaves at a step of a call, in the way that is asked for: `leaves.mjs <step> <how> [modern]`.
 * Steps: start, probe, initialize, initialized, call, asked, answered. Ways: exit (with code 9),
 * kill, close-stdout (and stay), close-stdin (and stay), stop (SIGSTOP, for who can wake it).
 */
import { answer, send, serve } from "./base.mjs";

const [step = "call", how = "exit", era] = process.argv.slice(2);
const isModern = era === "modern";
let call;
process.stdout.on("error", () => {}); // this program leaves only where it is told to

function leaveAt(here) {
  if (here !== step) return false;
  if (how === "exit") process.exit(9);
  if (how === "kill") process.kill(process.pid, "SIGKILL");
  if (how === "stop") process.kill(process.pid, "SIGSTOP");
  if (how === "close-stdout") process.stdout.end();
  if (how === "close-stdin") process.stdin.destroy();
  if (how.startsWith("close")) setInterval(() => {}, 1000);
  return true;
}

const params = {
  message: "Well?",
  requestedSchema: {
    type: "object",
    properties: { x: { type: "string", default: "y" } },
  },
};
const question = { method: "elicitation/create", params };

if (!leaveAt("start")) {
  serve((message) => {
    const { id, method } = message;
    if (method === "server/discover") {
      if (leaveAt("probe")) return;
      if (!isModern) return answer(message);
      send({ id, result: { supportedVersions: ["2026-07-28"], capabilities: {} } });
    } else if (method === "tools/call" && message.params?.["inputResponses"]) {
      if (!leaveAt("answered")) answer(message);
    } else if (method === "tools/call") {
      call = id;
      if (leaveAt("call")) return;
      if (isModern) {
        send({
          id,
          result: { resultType: "input_required", inputRequests: { x: question } },
        });
      } else send({ id: "q", ...question });
      leaveAt("asked");
    } else if (method === undefined) {
      if (!leaveAt("answered")) answer({ id: call, method: "tools/call" });
    } else {
      const here = method === "notifications/initialized" ? "initialized" : method;
      if (!leaveAt(here)) answer(message);
    }
  });
}
