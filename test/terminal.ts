/**
 * A real terminal for a test: a pseudo-terminal by `script`, which every Linux has. The tests
 * that need it are skipped elsewhere.
 */
import { spawn, spawnSync } from "node:child_process";
import { LOADER, ROOT, type Place } from "./support.ts";

export const hasTerminal =
  process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;

/** What has not come by then, even on a busy machine, does not come. */
const SEE_MS = 90_000;

export type Terminal = {
  /** Types text as it is; Enter is `\r`, Ctrl-C `\x03`, Ctrl-D `\x04`. */
  type(text: string): void;
  /** Waits until the screen shows the pattern behind what was seen before. */
  see(pattern: RegExp): Promise<string>;
  /** All that was shown, as lines of text without the sequences that put it there. */
  screen(): string;
  /** All bytes that were shown. */
  raw(): string;
  /** Closes the terminal, as a window is closed. */
  hangUp(): void;
  ended: Promise<number | null>;
};

type Options = Place & { env?: Record<string, string>; columns?: number };

/** Starts a script of ours in a terminal of so many columns. */
export function openTerminal(args: string[], options: Options = {}): Terminal {
  return open([process.execPath, ...(options.loader ?? LOADER), ...args], options);
}

/** Starts a shell that controls its jobs; its prompt is `shell$ `. */
export function openShell({ env, ...options }: Options = {}): Terminal {
  const quiet = { PS1: "shell$ ", HISTFILE: "", INPUTRC: "/dev/null", ...env };
  return open(["bash", "--norc", "-i"], { ...options, env: quiet });
}

function open(argv: string[], { env, columns = 90, cwd = ROOT }: Options): Terminal {
  const quote = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;
  const command = argv.map(quote).join(" ");
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(
    "script",
    ["-qefc", `stty cols ${columns} rows 50; exec ${command}`, "/dev/null"],
    {
      cwd,
      env: { PATH, HOME, TERM: "xterm", NO_COLOR: "1", SHELL: "/bin/sh", ...env },
    },
  );
  let shown = "";
  let seen = 0;
  const watchers = new Set<() => void>();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
    for (const watch of watchers) watch();
  });
  child.stdin.on("error", () => {});
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  return {
    type: (text) => void child.stdin.write(text),
    see: (pattern) =>
      new Promise((resolve, reject) => {
        const fail = () => {
          child.kill("SIGKILL"); // or the test file would wait for what runs in it
          reject(new Error(`no ${pattern} in:\n${plain(shown)}`));
        };
        const limit = setTimeout(fail, SEE_MS);
        const watch = () => {
          const text = plain(shown).slice(seen);
          const match = pattern.exec(text);
          if (!match) return;
          seen += match.index + match[0].length;
          clearTimeout(limit);
          watchers.delete(watch);
          resolve(text);
        };
        watchers.add(watch);
        void ended.then(() => (clearTimeout(limit), fail()));
        watch();
      }),
    screen: () => plain(shown.replace(ERASED_ROW, "")),
    raw: () => shown,
    hangUp: () => void child.kill("SIGKILL"),
    ended,
  };
}

/** What stood on a row that was wiped: the line that says what is waited for. */
const ERASED_ROW = /[^\n]*\r\x1b\[K/g;

/** Drops the sequences by which readline moves on its own line. */
function plain(bytes: string): string {
  return bytes.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "").replace(/\r+\n/g, "\n");
}
