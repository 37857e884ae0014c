/**
 * A client that does one thing wrong, and shows what the server answers to it:
 *
 *     node test/peers/client.mjs <fault> <command of a server> [arguments]
 *
 * Faults: junk, half-line, same-id, batch, no-envelope, bad-ids, cancels-early, floods,
 * never-reads, leaves. Each ends with a request that a good server still answers.
 */
import { spawn } from "node:child_process";

const [fault = "junk", command = "npx", ...args] = process.argv.slice(2);
const server = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const _meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
const write = (text) => server.stdin.write(text);
const send = (message) => write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const list = (id) => send({ id, method: "tools/list", params: { _meta } });
server.stdin.on("error", () => {});
server.on("close", (code) => console.log(`the server ended with ${code}`));
if (fault !== "never-reads") server.stdout.pipe(process.stdout);

switch (fault) {
  case "junk":
    for (const line of ["hello", "{", "null", "[]", "7", '{"jsonrpc":"2.0"}'])
      write(`${line}\n`);
    break;
  case "half-line":
    write('{"jsonrpc":"2.0","id":1,"meth');
    await new Promise((resolve) => setTimeout(resolve, 200));
    write(`od":"tools/list","params":${JSON.stringify({ _meta })}}\n`);
    break;
  case "same-id":
    for (let n = 0; n < 3; n++) list(1);
    break;
  case "batch":
    write(`[${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" })}]\n`);
    break;
  case "no-envelope":
    send({ id: 1, method: "tools/list" });
    break;
  case "bad-ids":
    for (const id of [null, true, 1.5, {}, [], 1e300]) list(id);
    break;
  case "cancels-early":
    send({ method: "notifications/cancelled", params: { requestId: "last" } });
    send({ method: "notifications/cancelled" });
    break;
  case "floods":
    for (let id = 0; id < 1000; id++) list(id);
    break;
  case "never-reads":
    for (let id = 0; id < 1000; id++) list(id);
    break;
  case "leaves":
    list(1);
    server.stdout.destroy();
}
list("last");
server.stdin.end();
