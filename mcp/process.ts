/**
 * A server as a child process: how it is started, how it is known that it has gone and why,
 * and how it is ended, politely first. Written for Windows too, where there are no process
 * groups and no signals but the last one.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
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
  "NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR " +
  "SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT APPDATA LOCALAPPDATA PROGRAMFILES " +
  "PROGRAMDATA USERPROFILE USERNAME HOMEDRIVE HOMEPATH PROCESSOR_ARCHITECTURE";

const STOP_STEP_MS = 2000;
const LAST_BYTES_MS = 500;
const STDERR_TAIL = 8000; // characters

/**
 * Starts a server. A script runs in this very Node with this very loader, anything else is a
 * command; never in a shell.
 *
 * @param env variables beside those that every server gets
 * @param onStderr hears what the server logs
 */
export function startProcess(
  command: string,
  args: string[] = [],
  env: Record<string, string> = {},
  onStderr: (text: string) => void = () => {},
): Server {
  const isScript = /\.[cm]?[jt]s$/.test(command);
  if (isScript && !existsSync(command)) {
    throw new ConnectionError(`there is no script ${command} (its arguments follow --)`);
  }
  const [file, argv] = isScript
    ? [process.execPath, [...process.execArgv, command, ...args]]
    : [command, args];
  const passed = PASSED_ON.split(" ").flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  // A process group of its own: Ctrl-C is for us, and no grandchild survives.
  const hasGroup = process.platform !== "win32";
  const child = spawn(file, argv, {
    env: { ...Object.fromEntries(passed), ...env },
    stdio: ["pipe", "pipe", "pipe"],
    detached: hasGroup,
    windowsHide: true,
  });

  // Always read, or a chatty server would block in the middle of an answer.
  let tail = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    tail = (tail + text).slice(-STDERR_TAIL);
    onStderr(text);
  });
  const said = () => {
    const lines = tail.split("\n").filter((line) => line.trim() && !/^\s+at /.test(line));
    // Of the wreckage of a crash the line with the error is enough, of others both ends.
    const error = lines.findLast((line) => /^\w*(Error|Exception)\b/.test(line));
    const ends = lines.length > 4 ? [...lines.slice(0, 2), ...lines.slice(-2)] : lines;
    const words = error ?? ends.join("\n");
    return words && `; it said: ${words}`;
  };

  const gone = new Promise<string>((resolve) => {
    const leave = (what: string) => resolve(`the server ${what}${said()}`);
    child.on("error", (error: NodeJS.ErrnoException) => {
      const reason = `could not be started (${error.code})`;
      leave(`${reason}: ${command} must be a script or a command`);
    });
    const ended = () => {
      const { exitCode, signalCode } = child;
      leave(
        signalCode ? `was ended by ${signalCode}` : `ended with exit code ${exitCode}`,
      );
    };
    child.on("close", ended);
    // Its last bytes may be on the way when it exits, and it may exit when it closes its
    // output. But a grandchild may hold the pipe, or it may stay.
    child.on("exit", () => setTimeout(ended, LAST_BYTES_MS).unref());
    child.stdout.on("end", () =>
      setTimeout(leave, LAST_BYTES_MS, "closed its output").unref(),
    );
  });

  // On Windows every signal ends a process at once, and its children stay.
  const kill = (signal: NodeJS.Signals) => {
    try {
      if (hasGroup && child.pid) process.kill(-child.pid, signal);
      else child.kill(signal);
    } catch {
      // It has gone.
    }
  };
  return {
    input: child.stdin,
    output: child.stdout,
    gone,
    async stop() {
      const exited = new Promise<true>((resolve) => {
        const hasExited = child.exitCode !== null || child.signalCode !== null;
        if (hasExited || !child.pid) resolve(true);
        else child.once("exit", () => resolve(true));
      });
      // The end of its input is the one sign to leave that works everywhere.
      child.stdin.end();
      for (const signal of ["SIGTERM", "SIGKILL"] as const) {
        const patience = sleep(STOP_STEP_MS, false, { ref: false });
        if (await Promise.race([exited, patience])) break;
        kill(signal);
      }
      kill("SIGKILL"); // whatever it left behind in its group
      child.stdout.destroy();
      child.stderr.destroy();
    },
  };
}
