// Holds a server that can't be told where to listen: `node --import loopback.mjs <server>`,
// started with an IPC channel. Whatever it opens listens on 127.0.0.1 alone; the port it got
// (so 0 may be asked for) goes to the parent, and when the parent goes, so does the server.
import { Server } from "node:net";

const listen = Server.prototype.listen;

Server.prototype.listen = function (...args) {
  const [where] = args;
  const port = typeof where === "object" ? where?.port : where;
  // A pipe has a path and no port.
  if (port === undefined || Number.isNaN(Number(port))) return listen.apply(this, args);
  this.once("listening", () => process.send?.(this.address()));
  const listener = args.find((arg) => typeof arg === "function");
  return listen.call(this, { port: Number(port), host: "127.0.0.1" }, listener);
};

process.on("disconnect", () => process.kill(process.pid, "SIGTERM"));
