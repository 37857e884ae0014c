// Starts a server and passes every byte on, both ways; keeps a copy of the lines in a file:
// `node tap.mjs <file> <command> [args]`. Each line of the file is [from, line] in JSON.
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";

const [file, command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });

function copy(from, input, output) {
  let rest = "";
  input.on("data", (chunk) => {
    output.write(chunk);
    const lines = (rest + chunk.toString("latin1")).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const text = Buffer.from(line, "latin1").toString();
      appendFileSync(file, JSON.stringify([from, text]) + "\n");
    }
  });
  input.on("end", () => output.end());
}
copy("client", process.stdin, child.stdin);
copy("server", child.stdout, process.stdout);
child.stdin.on("error", () => {});
process.stdout.on("error", () => {});
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code) => (process.exitCode = code ?? 1));
