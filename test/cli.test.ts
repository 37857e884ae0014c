/** The client as a program, where there is no terminal. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, test } from "node:test";
import { startStooq } from "./stooq.ts";
import { DEFAULTS } from "./forms.ts";
import { LEGACY, LOADER, MODERN, ROOT, run, type Ended } from "./support.ts";

const stooq = await startStooq();
after(() => stooq.close());

const pair = (...args: string[]): Promise<Ended> =>
  run("client.ts", ["--server", "server.ts", "--env", `STOOQ_URL=${stooq.url}`, ...args]);
const peer = (name: string, args: string[] = [], env = {}): Promise<Ended> =>
  run("client.ts", ["--server", `test/peers/${name}.ts`, ...args], { env });

// --- Bad usage ---------------------------------------------------------------------------

const USAGE: [string[], RegExp][] = [
  [[], /^--server is missing/],
  [["--server"], /--server/],
  [["--server", "s", "--what"], /--what/],
  [["--server", "s", "stray"], /stray/],
  [
    ["--server", "s", "--timeout", "soon"],
    /--timeout must be above 0 seconds, at most 2000000, not "soon"/,
  ],
  [
    ["--server", "s", "--timeout", "0"],
    /--timeout must be above 0 seconds, at most 2000000, not "0"/,
  ],
  [
    ["--server", "s", "--protocol", "2023-01-01"],
    /--protocol must be one of auto, 2026-07-28/,
  ],
  [["--server", "s", "--args", "{"], /--args must be a JSON object, not "\{"/],
  [["--server", "s", "--args", "[]"], /--args must be a JSON object, not "\[\]"/],
  [["--server", "s", "--answer", "ticker"], /--answer must be name=value, not "ticker"/],
  [
    ["--server", "s", "--env", "constructor"],
    /--env must name a variable that is set, not "constructor"/,
  ],
  [
    ["--server", "s", "--env", "NO_SUCH_VARIABLE"],
    /--env must name a variable that is set, not "NO_SUCH_VARIABLE"/,
  ],
];
for (const [args, reason] of USAGE) {
  test(`it ends with 2 at: ${args.join(" ") || "nothing"}`, async () => {
    const { code, stdout, stderr } = await run("client.ts", args);
    assert.equal(code, 2);
    assert.equal(stdout, "");
    assert.match(stderr, reason);
    assert.match(stderr, /^[^\n]+\(see --help\)\n$/, "one line, with the next step");
  });
}

test("it tells its options, all of them", async () => {
  const { code, stdout, stderr } = await run("client.ts", ["--help"]);
  assert.equal(code, 0);
  assert.equal(stderr, "");
  for (const option of "server ticker tool args answer defaults protocol timeout env json verbose help".split(
    " ",
  )) {
    assert.match(stdout, new RegExp(`--${option}\\b`));
  }
});

// --- The result --------------------------------------------------------------------------

test("it prints the structured result as JSON", async () => {
  const { stdout } = await pair("--ticker", "NVDA", "--json");
  assert.equal(stdout.split("\n").length, 2);
  assert.deepEqual(JSON.parse(stdout), {
    symbol: "NVDA",
    price: 188.5,
    date: "2026-08-20",
    time: "22:00:12",
    name: "X",
    source: "stooq",
  });
});

test("it fails with the tool's reason, and prints nothing on stdout", async () => {
  assert.deepEqual(await pair("--ticker", "NOPE"), {
    code: 1,
    stdout: "",
    stderr:
      "The tool failed: Stooq has no price for NOPE (asked for as nope.us).\n" +
      "No question could be answered here: use a terminal, or --ticker, --answer or --defaults.\n",
  });
});

test("it fails with the code of an error answer", async () => {
  const { code, stdout, stderr } = await pair("--tool", "nope", "--defaults");
  assert.equal(code, 1);
  assert.equal(stdout, "");
  assert.equal(
    stderr,
    "The server answered with error -32602: Unknown tool: nope\n" +
      "Choose one of its tools with --tool: get_stock_price\n",
  );
});

for (const protocol of [MODERN, LEGACY]) {
  test(`it names the flags where nobody can be asked (${protocol})`, async () => {
    const { code, stdout, stderr } = await pair("--protocol", protocol);
    assert.equal(code, 1);
    assert.equal(stdout, "");
    assert.match(stderr, /ticker/);
    assert.match(stderr, /use a terminal, or --ticker, --answer or --defaults/);
  });

  test(`it names the field that the flags leave open (${protocol})`, async () => {
    const { code, stdout, stderr } = await pair("--protocol", protocol, "--defaults");
    assert.equal(code, 2);
    assert.equal(stdout, "");
    assert.match(stderr, /ticker is required.*--answer ticker=…/);
  });

  test(`it fails with the server's reason when an answer is refused (${protocol})`, async () => {
    const { code, stderr } = await pair(
      "--protocol",
      protocol,
      "--answer",
      "ticker=no ticker",
    );
    assert.equal(code, 2);
    assert.match(stderr, /"no ticker" is not a ticker symbol/);
  });

  test(`it does not consent to the sample unasked (${protocol})`, async () => {
    const args = ["--protocol", protocol, "--env", "STOOQ_URL=http://127.0.0.1:9"];
    const { code, stdout, stderr } = await pair(...args, "--answer", "ticker=NVDA");
    assert.equal(code, 2);
    assert.equal(stdout, "");
    assert.match(stderr, /--answer useSample=…/);
    const agreed = await pair(
      ...args,
      "--answer",
      "ticker=NVDA",
      "--answer",
      "useSample=y",
    );
    assert.match(agreed.stdout, /^NVDA 177\.19 \(bundled sample/);
    const refused = await pair(...args, "--ticker", "NVDA", "--answer", "useSample=no");
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^The tool failed: Stooq could not be reached/);
  });
}

// --- The trace ---------------------------------------------------------------------------

test("it shows every line on stderr with -v, and keeps stdout clean", async () => {
  const { stdout, stderr } = await pair("--ticker", "NVDA", "-v");
  assert.equal(stdout, "NVDA 188.5\n");
  const lines = stderr.trimEnd().split("\n");
  assert.deepEqual(
    lines.map((line) => line[0]),
    ["→", "←", "→", "←"],
  );
  for (const line of lines) assert.equal(JSON.parse(line.slice(2)).jsonrpc, "2.0");
});

test("it colours the directions if it is told to, and not for NO_COLOR", async () => {
  const args = ["--server", "server.ts", "--ticker", "a b", "-v"];
  const forced = await run("client.ts", args, { env: { FORCE_COLOR: "1" } });
  assert.match(forced.stderr, /\x1b\[36m→ .*\x1b\[39m\n\x1b\[33m← /);
  const off = await run("client.ts", args, { env: { FORCE_COLOR: "1", NO_COLOR: "1" } });
  assert.doesNotMatch(off.stderr, /\x1b/);
  const zero = await run("client.ts", args, { env: { FORCE_COLOR: "0" } });
  assert.doesNotMatch(zero.stderr, /\x1b/);
});

// --- The server's process ----------------------------------------------------------------

test("it gives a server the listed variables, those that are named, and its arguments", async () => {
  const args = [
    "--tool",
    "any",
    "--args",
    '{"a":[1]}',
    "--env",
    "ONE",
    "--env",
    "TWO=2=2",
    "--env",
    "E=",
  ];
  const env = { ONE: "1", SECRET: "s", LANG: "C", HTTPS_PROXY: "p", STOOQ_URL: "x" };
  const { stdout } = await peer("environment", [...args, "--", "-x", "--", "a b"], env);
  const told = JSON.parse(stdout);
  assert.deepEqual(told.argv, ["-x", "--", "a b"]);
  assert.deepEqual(told.args, { a: [1] });
  assert.deepEqual(Object.keys(told.env).sort(), [
    "E",
    "HOME",
    "HTTPS_PROXY",
    "LANG",
    "ONE",
    "PATH",
    "TWO",
  ]);
  assert.deepEqual([told.env.ONE, told.env.TWO, told.env.E], ["1", "2=2", ""]);
});

test("it starts a command that is no script", async () => {
  const args = ["--server", process.execPath, "--ticker", "NVDA"];
  const env = { STOOQ_URL: stooq.url };
  const flags = ["--env", "STOOQ_URL", "--", ...LOADER, "server.ts"];
  assert.equal(
    (await run("client.ts", [...args, ...flags], { env })).stdout,
    "NVDA 188.5\n",
  );
});

test("it says that there is no such command or script, and what is wanted", async () => {
  const command = await run("client.ts", ["--server", "no-such-command"]);
  assert.equal(command.code, 3);
  assert.match(
    command.stderr,
    /^The server could not be started \(ENOENT\): no-such-command must/,
  );
  const script = await run("client.ts", ["--server", "no-such.ts"]);
  assert.equal(script.code, 3);
  assert.match(
    script.stderr,
    /^There is no script no-such\.ts \(its arguments follow --\)\n/,
  );
});

test("it does not wait for ever on a pipe that stays open", async () => {
  const { PATH = "" } = process.env;
  const args = [...LOADER, "client.ts", "--server", "server.ts"];
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { PATH },
    stdio: ["pipe", "pipe", "pipe"],
  });
  assert.equal(await new Promise((resolve) => child.on("close", resolve)), 1);
});

for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const) {
  test(`it cancels the call at ${signal}, and ends with ${code}`, async () => {
    const { PATH = "" } = process.env;
    const args = [
      ...LOADER,
      "client.ts",
      "--server",
      "test/peers/slow.ts",
      "--tool",
      "any",
      "-v",
    ];
    const child = spawn(process.execPath, args, { cwd: ROOT, env: { PATH } });
    let stderr = "";
    child.stderr.on("data", (text) => {
      stderr += text;
      if (/called \d/.test(stderr) && !child.killed) child.kill(signal);
    });
    assert.equal(await new Promise((resolve) => child.on("close", resolve)), code);
    assert.match(stderr, /→ .*"notifications\/cancelled","params":\{"requestId":3\}/);
    assert.equal(stderr.match(/→ .*notifications\/cancelled/g)?.length, 1);
    assert.match(stderr, /server: .*notifications\/cancelled/, "it reached the server");
    assert.match(stderr, /\nInterrupted\.\n/);
  });
}

for (const fault of ["result", "failure", "error", "version", "question"]) {
  test(`it lets nothing of a hostile ${fault} control the terminal`, async () => {
    const args = ["--tool", "any", "--defaults", "-v", "--", fault];
    const { stdout, stderr } = await peer("hostile", args);
    assert.match(stdout + stderr, /link/);
    assert.doesNotMatch(stdout + stderr, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u200b]/);
  });
}

// --- Answers from the command line -------------------------------------------------------

const forms = (...args: string[]) =>
  run("client.ts", ["--server", "test/forms.ts", ...args]);

const REFUSED: [string[], RegExp][] = [
  [
    ["--tool", "integer", "--answer", "guests=4"],
    /integer is required\. It has no field guests\. Give --answer integer=…/,
  ],
  [["--tool", "integer", "--answer", "integer=9"], /--answer integer must be 0 to 6\.\n/],
  [
    ["--tool", "booking", "--answer", "text=A"],
    /--answer text must have 2 to 20 characters/,
  ],
  [["--tool", "confirm", "--defaults"], /Delete all 3 files\? Only a person/],
  [["--tool", "page", "--defaults"], /-32021/],
];
for (const [args, reason] of REFUSED) {
  test(`it refuses ${args.slice(2).join(" ")} for ${args[1]}`, async () => {
    const { code, stdout, stderr } = await forms(...args);
    assert.match(stderr, reason);
    assert.equal(stdout, "");
    assert.ok(code === 2 || code === 1);
  });
}

test("it says so when an answer was for no question, and prints the result all the same", async () => {
  const { code, stdout, stderr } = await forms(
    "--tool",
    "booking",
    "--answer",
    "text=Ada",
    "--answer",
    "size=l",
  );
  assert.equal(code, 2);
  assert.equal(JSON.parse(stdout).form.content.titled, "m");
  assert.match(stderr, /--answer size: no question was left with such a field/);
});

test("it gives answers to the questions that have them, in whatever order", async () => {
  const { stdout } = await forms(
    "--tool",
    "two",
    "--answer",
    "integer=3",
    "--answer",
    "text=Ada",
  );
  assert.deepEqual(JSON.parse(stdout), {
    first: { action: "accept", content: { text: "Ada" } },
    second: { action: "accept", content: { integer: 3 } },
  });
});

test("it completes an answer with the defaults of the form", async () => {
  const { stdout } = await forms(
    "--tool",
    "booking",
    "--answer",
    "titled=Large",
    "--answer",
    "boolean=y",
  );
  assert.equal(stdout, "");
  const ok = await forms(
    "--tool",
    "booking",
    "--answer",
    "titled=l",
    "--answer",
    "boolean=y",
  );
  assert.deepEqual(JSON.parse(ok.stdout).form.content, {
    text: "Ada",
    titled: "l",
    boolean: true,
  });
});

test("it answers a form with all its defaults", async () => {
  const { stdout } = await forms("--tool", "everything", "--defaults");
  assert.deepEqual(JSON.parse(stdout).form.content, DEFAULTS);
});
