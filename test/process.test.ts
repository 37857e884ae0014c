/** A server's process: what it is given, why it could not be started, how it ends. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { promisify } from "node:util";
import { ConnectionError } from "../mcp/peer.ts";
import { startProcess } from "../mcp/process.ts";
import { LOADER, ROOT } from "./support.ts";

const folder = mkdtempSync(join(tmpdir(), "process-test-"));
after(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);
function file(name: string, text: string, mode = 0o755): string {
  writeFileSync(at(name), text);
  chmodSync(at(name), mode);
  return at(name);
}

/** Starts a command and tells why it could not be started, at once or a little later. */
async function whyNot(command: string): Promise<string> {
  try {
    const { gone, stop } = startProcess(command, [], {}, () => {});
    const reason = await gone;
    await stop();
    return reason;
  } catch (error) {
    assert.ok(error instanceof ConnectionError, String(error));
    return error.message;
  }
}

// --- Starts that fail --------------------------------------------------------------------

file("no-interpreter", "#!/usr/bin/nope -x\n");
file("crlf", "#!/bin/sh\r\necho\r\n");
file("interpreter-without-x", `#!${file("plain", "echo\n", 0o644)}\n`);
file("never-x", "#!/bin/sh\n", 0o644);
mkdirSync(at("folder"));
process.env["PATH"] += delimiter + folder;

const REASONS: [what: string, command: string, reason: string][] = [
  [
    "no command",
    "no-such-command",
    "(ENOENT): no-such-command must be a script (.ts, .js) or a command in PATH",
  ],
  [
    "no file",
    "./no/such",
    "(ENOENT): ./no/such must be a script (.ts, .js) or a command in PATH",
  ],
  [
    "a missing interpreter",
    at("no-interpreter"),
    '(ENOENT): its interpreter "/usr/bin/nope" is missing or not executable',
  ],
  [
    "one of a command on the PATH",
    "no-interpreter",
    '(ENOENT): its interpreter "/usr/bin/nope" is missing or not executable',
  ],
  [
    "a carriage return",
    at("crlf"),
    '(ENOENT): its interpreter "/bin/sh\\r" is missing or not executable',
  ],
  [
    "an interpreter without x",
    at("interpreter-without-x"),
    `(EACCES): its interpreter "${at("plain")}" is missing or not executable`,
  ],
  [
    "a file without x",
    at("never-x"),
    `(EACCES): ${at("never-x")} is not executable (chmod +x)`,
  ],
  ["a folder", at("folder"), `(EACCES): ${at("folder")} is a folder`],
  [
    "a file as a folder",
    at("plain/x"),
    `(ENOTDIR): a part of the path ${at("plain/x")} is a file, not a folder`,
  ],
  [
    "a URL",
    "http://127.0.0.1:9/mcp",
    "(ENOENT): an HTTP server needs a bridge to stdio, such as --server mcp-remote -- http://127.0.0.1:9/mcp",
  ],
  [
    "a command in one string",
    "node srv -x",
    '(ENOENT): no command is "node srv -x"; arguments follow --: node -- srv -x',
  ],
  ["a home folder", "~/srv", "(ENOENT): only a shell expands ~; write out ~/srv"],
];
for (const [what, command, reason] of REASONS) {
  test(`it says why ${what} could not be started`, async () => {
    assert.equal(await whyNot(command), `the server could not be started ${reason}`);
  });
}

const SCRIPTS: [command: string, reason: string][] = [
  ["no-such.ts", "there is no script no-such.ts (its arguments follow --)"],
  ["node srv.mjs", 'no command is "node srv.mjs"; arguments follow --: node -- srv.mjs'],
  ["~/srv.js", "only a shell expands ~; write out ~/srv.js"],
  [
    "https://example.org/srv.js",
    "an HTTP server needs a bridge to stdio, such as --server mcp-remote -- https://example.org/srv.js",
  ],
];
for (const [command, reason] of SCRIPTS) {
  test(`it starts no script ${command}, and says why`, async () => {
    assert.equal(await whyNot(command), reason);
  });
}

test("it says so in a sentence where a command can't be one at all", async () => {
  assert.match(await whyNot(""), /^the server could not be started: /);
  assert.match(await whyNot("a\0b"), /^the server could not be started: /);
});

test("it says so in a sentence when no file descriptor is left", async () => {
  const script = `
    import { openSync } from "node:fs";
    import { startProcess } from "./mcp/process.ts";
    try { for (;;) openSync("/dev/null"); } catch {}
    try { startProcess("cat", [], {}, () => {}); } catch (error) {
      process.stdout.write(error.constructor.name + ": " + error.message);
    }`;
  const line = 'ulimit -n 256; exec "$0" "$@"';
  const args = [
    "-c",
    line,
    process.execPath,
    ...LOADER,
    "--input-type=module",
    "-e",
    script,
  ];
  const { stdout, stderr } = await promisify(execFile)("sh", args, { cwd: ROOT });
  assert.equal(
    stdout,
    "ConnectionError: the server could not be started: too many files are open",
  );
  assert.equal(stderr, "");
});

// --- Starts that succeed -----------------------------------------------------------------

/** Starts a script that prints something, and returns what that is. */
async function printed(script: string, args: string[], env: Record<string, string>) {
  const { output, gone, stop } = startProcess(script, args, env, () => {});
  let text = "";
  for await (const chunk of output.setEncoding("utf8")) text += chunk;
  assert.equal(await gone, "the server ended with exit code 0");
  await stop();
  return JSON.parse(text);
}

test("it runs a script in this Node with this loader, in no shell", async () => {
  const script = file(
    "argv.ts",
    "const { argv, execArgv, execPath } = process as NodeJS.Process;\n" +
      "console.log(JSON.stringify({ argv: argv.slice(2), execArgv, execPath }));\n",
    0o644,
  );
  const args = ["-x", "--", "a b", "$HOME", "*"];
  const { execArgv, execPath } = process;
  assert.deepEqual(await printed(script, args, {}), { argv: args, execArgv, execPath });
});

test("it passes the listed variables and those that are named, and no key of ours", async () => {
  Object.assign(process.env, { LANG: "C", SECRET: "s", STATE_KEY: "k", STOOQ_URL: "x" });
  const script = file("env.mjs", "console.log(JSON.stringify(process.env))");
  const env = await printed(script, [], { ONE: "1", EMPTY: "" });
  assert.equal(env.LANG, "C");
  assert.equal(env.PATH, process.env["PATH"]);
  assert.equal(env.ONE, "1");
  assert.equal(env.EMPTY, "");
  for (const name of ["SECRET", "STATE_KEY", "STOOQ_URL"])
    assert.ok(!(name in env), name);
});

/** Whether a process is there, and no zombie. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

// --- Ends --------------------------------------------------------------------------------

const ENDS: [how: string, script: string, reason: RegExp][] = [
  ["exits", "process.exit(7)", /^the server ended with exit code 7$/],
  [
    "is killed",
    "process.kill(process.pid, 'SIGKILL')",
    /^the server was ended by SIGKILL$/,
  ],
  [
    "closes its output",
    "process.stdin.resume(); require('fs').closeSync(1)",
    /^the server closed its output$/,
  ],
  [
    "says why",
    "console.error('out of luck'); process.exit(7)",
    /exit code 7; it said: out of luck$/,
  ],
  [
    "says much",
    "for (const n of '123456') console.error(n); process.exit(7)",
    /; it said: 1\n2\n5\n6$/,
  ],
  [
    "crashes",
    "console.error('a'); throw new TypeError('no luck')",
    /; it said: TypeError: no luck$/,
  ],
];
for (const [how, script, reason] of ENDS) {
  test(`it says how a server left that ${how}`, async () => {
    const { gone, stop } = startProcess("node", [file("ends.cjs", script)], {}, () => {});
    assert.match(await gone, reason);
    await stop();
  });
}

test("it hears what a server logs, however much, and waits for its last bytes", async () => {
  const script = file(
    "logs.cjs",
    "process.stderr.write('x'.repeat(1e6)); process.stdout.write('y'.repeat(1e6));",
  );
  let heard = 0;
  const server = startProcess(script, [], {}, (text) => (heard += text.length));
  let length = 0;
  server.output.on("data", (chunk: Buffer) => (length += chunk.length));
  await server.gone;
  assert.equal(heard, 1e6);
  assert.equal(length, 1e6);
});

test("it ends a server by closing its input, then by force, with what it started", async () => {
  const polite = startProcess("cat", [], {}, () => {});
  await polite.stop();
  assert.equal(await polite.gone, "the server ended with exit code 0");

  const stubborn = file(
    "stubborn.cjs",
    "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);" +
      "const child = require('child_process').spawn('sleep', ['1000'], { stdio: 'ignore' });" +
      "console.log(child.pid);",
  );
  const server = startProcess(stubborn, [], {}, () => {});
  const [pid] = await once(server.output, "data");
  assert.ok(isRunning(Number(pid)));
  await server.stop();
  assert.equal(await server.gone, "the server was ended by SIGKILL");
  // It is an orphan: nobody here is told when it has gone.
  while (isRunning(Number(pid))) await turn();
});
