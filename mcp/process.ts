/**
 * A server as a child process: how it is started, how it is known that it has gone and why,
 * and how it is ended, politely first. Windows has no process groups, and no signals but the
 * last one.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
 */
import { spawn, type ChildProcessWithoutNullStreams as Child } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, existsSync, readFileSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { ConnectionError } from "./peer.ts";

/** A started server: its two streams, why it has gone once it has, and how to end it. */
export type Server = {
  input: Writable;
  output: Readable;
  gone: Promise<string>;
  stop(): Promise<void>;
};

/** What a server is given of our environment; everything else only by name (`--env`). */
const PASSED_ON =
  "PATH HOME USER LOGNAME SHELL LANG LANGUAGE LC_ALL LC_CTYPE TZ TERM TMPDIR TEMP TMP " +
  "HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy NODE_USE_ENV_PROXY " +
  "NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR NODE_COMPILE_CACHE " +
  "SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT APPDATA LOCALAPPDATA PROGRAMFILES " +
  "PROGRAMDATA USERPROFILE USERNAME HOMEDRIVE HOMEPATH PROCESSOR_ARCHITECTURE";
const STOP_STEP_MS = 2000;
const TAIL_MS = 500;
const SCRIPT = /\.[cm]?[jt]s$/;
const BRIDGE = "an HTTP server needs a bridge to stdio, such as --server mcp-remote --";
const HAS_GROUPS = process.platform !== "win32";

/**
 * Starts a server. A script runs in this very Node with this very loader, anything else is a
 * command; never in a shell.
 * @param env variables beside those that every server gets
 * @param onStderr hears what the server logs
 * @throws {ConnectionError} what is known at once to be no server
 */
export function startProcess(
  command: string,
  args: string[] = [],
  env: Record<string, string> = {},
  onStderr: (text: string) => void = () => {},
): Server {
  const child = spawnServer(command, args, env);
  // Always read, or a chatty server would block in the middle of an answer.
  let tail = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    tail = (tail + text).slice(-8000); // characters
    onStderr(text);
  });
  const gone = new Promise<string>((resolve) => {
    const leave = (what: string) => resolve(`the server ${what}${lastWords(tail)}`);
    const ended = (code: number | null, signal: string | null) =>
      leave(signal ? `was ended by ${signal}` : `ended with exit code ${code}`);
    child.on("error", (error) => leave(couldNotStart(command, error)));
    child.on("close", ended);
    // Its last bytes may be on the way when it exits, and it may exit when it closes its
    // output. But a grandchild may hold the pipe, or it may stay.
    child.on("exit", (...how) => setTimeout(ended, TAIL_MS, ...how).unref());
    child.stdout.on("end", () => setTimeout(leave, TAIL_MS, "closed its output").unref());
  });
  const exited = once(child, "exit").catch(() => []); // it did not start
  const { stdin: input, stdout: output } = child;
  return { input, output, gone, stop: () => stop(child, exited) };
}

function spawnServer(command: string, args: string[], env: object): Child {
  const isScript = SCRIPT.test(command);
  if (isScript && !existsSync(command)) throw new ConnectionError(whyNot(command));
  const argv = isScript ? [...process.execArgv, command, ...args] : args;
  const passed = PASSED_ON.split(" ").map((name) => [name, process.env[name]]);
  const all = { ...Object.fromEntries(passed), ...env };
  // A process group of its own: Ctrl-C is for us, and no grandchild survives.
  const options = { env: all, detached: HAS_GROUPS, windowsHide: true };
  try {
    const child = spawn(isScript ? process.execPath : command, argv, options);
    if (child.stdin) return child;
    // Whatever its type says: without file descriptors it has no streams.
    child.on("error", () => {});
    throw new Error("too many files are open");
  } catch (error) {
    throw new ConnectionError(`the server ${couldNotStart(command, error)}`);
  }
}

function couldNotStart(command: string, error: unknown): string {
  const { code = "", message } = error as NodeJS.ErrnoException;
  if (!/^(ENOENT|EACCES|ENOTDIR)$/.test(code)) return `could not be started: ${message}`;
  return `could not be started (${code}): ${whyNot(command, code)}`;
}

/** The system says only that something is missing or forbidden; a person must know what. */
function whyNot(name: string, code = "ENOENT"): string {
  if (/^\w+:\/\//.test(name)) return `${BRIDGE} ${name}`;
  if (code === "ENOTDIR") return `a part of the path ${name} is a file, not a folder`;
  const dirs = /[/\\]/.test(name) ? [""] : (process.env["PATH"] ?? "").split(delimiter);
  const file = dirs.map((dir) => join(dir, name)).find((path) => existsSync(path));
  if (file === undefined) {
    if (name.startsWith("~")) return `only a shell expands ~; write out ${name}`;
    const apart = name.replace(/\s+/, " -- ");
    if (apart !== name) return `no command is "${name}"; arguments follow --: ${apart}`;
    if (SCRIPT.test(name)) return `there is no script ${name} (its arguments follow --)`;
    return `${name} must be a script (.ts, .js) or a command in PATH`;
  }
  if (statSync(file).isDirectory()) return `${name} is a folder`;
  try {
    accessSync(file, constants.X_OK);
    const interpreter = /^#! *([^ \n]+)/.exec(readFileSync(file, "latin1"))?.[1];
    // As JSON, for its fault may be a carriage return.
    return `its interpreter ${JSON.stringify(interpreter)} is missing or not executable`;
  } catch {
    return `${name} is not executable (chmod +x)`;
  }
}

/** Of the wreckage of a crash the line with the error is enough, of others both ends. */
function lastWords(tail: string): string {
  const lines = tail.split("\n").filter((line) => line.trim() && !/^\s+at /.test(line));
  const error = lines.findLast((line) => /^\w*(Error|Exception)\b/.test(line));
  const ends = lines.length > 4 ? [...lines.slice(0, 2), ...lines.slice(-2)] : lines;
  const words = error ?? ends.join("\n");
  return words && `; it said: ${words}`;
}

async function stop(child: Child, exited: Promise<unknown>): Promise<void> {
  const kill = (signal: NodeJS.Signals) => {
    try {
      if (HAS_GROUPS && child.pid) process.kill(-child.pid, signal);
      else child.kill(signal);
    } catch {} // it has gone
  };
  const patience = () => sleep(STOP_STEP_MS, false, { ref: false });
  child.stdin.end(); // the one sign to leave that works everywhere
  if (!(await Promise.race([exited, patience()]))) kill("SIGTERM");
  await Promise.race([exited, patience()]);
  kill("SIGKILL"); // or whatever it left behind in its group
  for (const stream of [child.stdout, child.stderr]) stream.destroy();
}
