/** The client as a program, where there is no terminal. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, openSync } from "node:fs";
import { after, describe, test } from "node:test";
import { BUILT } from "./built.ts";
import { DEFAULTS } from "./forms.ts";
import { startStooq } from "./stooq.ts";
import { LEGACY, LOADER, MODERN, run, type Ended } from "./support.ts";

const stooq = await startStooq();
after(() => stooq.close());

const DOWN = ["--env", "STOOQ_URL=http://127.0.0.1:9"];
const client = (args: string[], env = {}): Promise<Ended> =>
  run("client.mjs", args, { ...BUILT, env });
const pair = (...args: string[]): Promise<Ended> =>
  client(["--server", "server.mjs", "--env", `STOOQ_URL=${stooq.url}`, ...args]);
const forms = (...args: string[]): Promise<Ended> =>
  client(["--server", "test/forms.mjs", "--tool", ...args]);
const peer = (name: string, options: string[], own: string[] = [], env = {}) =>
  client(withPeer(name, options, own), env);
const withPeer = (name: string, options: string[], own: string[] = []): string[] => [
  ...["--server", "node", ...options, "--", `test/peers/${name}.mjs`, ...own],
];

/** Starts the client where a test needs more of the process than its end. */
function start(args: string[], stdout: number | "pipe" = "pipe") {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, ["client.mjs", ...args], {
    cwd: BUILT.cwd,
    env: { PATH, HOME },
    stdio: ["pipe", stdout, "pipe"],
  });
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text) => (stderr += text));
  const ended = new Promise<{ code: number | null; stderr: string }>((resolve) =>
    child.on("close", (code) => resolve({ code, stderr })),
  );
  return { child, ended };
}

describe("the client as a program", { concurrency: 4 }, () => {
  // --- Bad usage -------------------------------------------------------------------------

  const deep = `${'{"a":'.repeat(9000)}1${"}".repeat(9000)}`;
  const USAGE: [string[], RegExp][] = [
    [[], /^--server is missing/],
    [["--server", "s", "--what"], /--what/],
    [["--server", "s", "--ticker", "--json"], /ambiguous.*'--ticker=-XYZ'/],
    [["--server", "s", "stray"], /stray.*; the server's own arguments follow --/],
    [["--server", "s", "--timeout", "0"], /--timeout must be above 0 seconds, not "0"/],
    [["--server", "s", "--protocol", "2023-01-01"], /one of auto, 2026-07-28/],
    [["--server", "s", "--args", "[]"], /--args must be a JSON object, not "\[\]"/],
    [["--server", "s", "--args", deep], /--args is nested too deep/],
    [["--server", "s", "--answer", "ticker"], /be name=value, not "ticker"/],
    [["--server", "s", "--env", "UNSET"], /a variable that is set, not "UNSET/],
  ];
  for (const [args, reason] of USAGE) {
    test(`it ends with 2 at: ${args.join(" ").slice(0, 40) || "nothing"}`, async () => {
      const { code, stdout, stderr } = await client(args);
      assert.deepEqual({ code, stdout }, { code: 2, stdout: "" });
      assert.match(stderr, reason);
      assert.match(stderr, /^[^\n]+\(see --help\)\n$/, "one line, with the next step");
    });
  }

  test("it tells its options, all of them, also when it is started without .ts", async () => {
    const { code, stdout, stderr } = await run("client", ["--help"]);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    const options =
      "server ticker tool list args answer defaults protocol timeout env json verbose help";
    for (const option of options.split(" ")) {
      assert.match(stdout, new RegExp(`--${option}\\b`));
    }
  });

  // --- The result ------------------------------------------------------------------------

  const text = (text: string) => ({ type: "text", text });
  const says = <Result extends object>(result: Result) => ({ result });
  const list = (...names: string[]) =>
    says({ tools: names.map((name) => ({ name, inputSchema: { type: "object" } })) });
  const [failing, old] = [
    (text: string) => says({ isError: true, content: [{ type: "text", text }] }),
    "Cannot send 'elicitation/create' on this connection",
  ];
  const readable = [
    text("a\tb \u202e東\u001b[1m\r\n"),
    { type: "resource", resource: { uri: "memo://7", text: "pay rent" } },
    { type: "resource", resource: { uri: "memo://8", blob: "AA==" } },
    { type: "resource_link", uri: "memo://9", name: "nine" },
    { type: "image", data: "AA==", mimeType: "image/png" },
  ];
  const odd = { toString: 1 }; // a program that makes a string of it dies
  const zone = { type: "string", description: "As in TZ" };
  const inputSchema = {
    type: "object",
    properties: { zone, all: {}, two: { type: ["string", "null"] }, odd: { type: odd } },
    required: ["zone"],
  };
  const described = { name: "t", description: "Tells the time", inputSchema };
  const listed = says({ tools: [described, { name: "u", x: "\u009b" }] });
  /** What the server says to a call and to a list, and what the client makes of it. */
  const SAID: [string, string[], [object, object?, string?], Ended][] = [
    [
      "all that can be read, as it came, of the only tool there is",
      [],
      [says({ content: readable }), list("t")],
      {
        code: 0,
        stdout: "a\tb \u202e東\\u001b[1m\r\n\npay rent\nmemo://8\nmemo://9\n[image]\n",
        stderr: "",
      },
    ],
    [
      "structured content that stands alone",
      ["--tool", "t"],
      [says({ content: [], structuredContent: { price: 1.5 } })],
      { code: 0, stdout: '{"price":1.5}\n', stderr: "" },
    ],
    ...[
      { symbol: "root@host:~$", price: 5, date: "2026-02-27", source: "stooq" },
      { symbol: "NVDA", price: 5, date: "2026-02-27). Sign in", source: "sample" },
      { symbol: "NVDA", price: 5, date: odd, source: "sample" },
      { symbol: odd, price: 5, date: "2026-02-27", source: "stooq" },
    ].map((structuredContent, index): (typeof SAID)[number] => [
      `no quote of what may be none (${index + 1})`,
      [],
      [says({ content: [text("ok")], structuredContent }), list("get_stock_price")],
      { code: 0, stdout: "ok\n", stderr: "" },
    ]),
    [
      "a word where the result is empty",
      ["--tool", "t"],
      [says({ content: null })],
      { code: 0, stdout: "", stderr: "The result is empty.\n" },
    ],
    [
      "content as JSON, with what hides written out",
      ["--tool", "t", "--json"],
      [says({ content: [text("\u202e\u009b")] })],
      {
        code: 0,
        stdout: '{"content":[{"type":"text","text":"\\u202e\\u009b"}]}\n',
        stderr: "",
      },
    ],
    [
      "the text of a resource that says why it failed",
      ["--tool", "t"],
      [says({ isError: true, content: readable.slice(1, 2) }), list("t")],
      { code: 1, stdout: "", stderr: "The tool failed: pay rent\n" },
    ],
    [
      "the tools of all pages after an unknown one",
      ["--tool", "t"],
      [failing("disk full"), says({ ...list("a", "b").result, nextCursor: "2" })],
      {
        code: 1,
        stdout: "",
        stderr: "The tool failed: disk full\nChoose one of its tools with --tool: a, b\n",
      },
    ],
    [
      "the code of an error, the pages that it wants opened, and the tools there are",
      ["--tool", "t"],
      [
        {
          error: {
            code: -32042,
            message: "Sign in",
            data: { elicitations: [{ url: "https://a.example/1" }, odd, { url: odd }] },
          },
        },
        list("a"),
      ],
      {
        code: 1,
        stdout: "",
        stderr:
          "The server answered with error -32042:\n│ Sign in\n" +
          "│ Open this page, and call again: https://a.example/1\n" +
          "Choose one of its tools with --tool: a\n",
      },
    ],
    [
      "the tools to choose from",
      [],
      [says({}), list("a", "b")],
      { code: 2, stdout: "", stderr: "Choose one of its tools with --tool: a, b\n" },
    ],
    [
      "that there are no tools",
      [],
      [says({}), list()],
      { code: 2, stdout: "", stderr: "The server lists no tools (see --tool).\n" },
    ],
    [
      "that tools are not listed",
      [],
      [says({}), { error: { code: -32601, message: "no" } }],
      {
        code: 1,
        stdout: "",
        stderr: "The server answered with error -32601: no\nName a tool with --tool.\n",
      },
    ],
    [
      "the way to a tool that asks in the older way",
      [],
      [failing(old), list("t"), "modern"],
      {
        code: 1,
        stdout: "",
        stderr:
          `The tool failed: ${old}\n` +
          "If the tool asks in the older way, try --protocol 2025-11-25.\n",
      },
    ],
    [
      "no such way where the version was chosen",
      ["--protocol", MODERN],
      [failing(old), list("t"), "modern"],
      { code: 1, stdout: "", stderr: `The tool failed: ${old}\n` },
    ],
    [
      "no flag of another tool where nobody can be asked",
      ["--tool", "t"],
      [failing("Client does not support elicitation."), list("t")],
      {
        code: 1,
        stdout: "",
        stderr:
          "The tool failed: Client does not support elicitation.\n" +
          "No question could be answered here: use a terminal, or --answer or --defaults.\n",
      },
    ],
    [
      "the tools and their arguments",
      ["--list"],
      [says({}), listed],
      {
        code: 0,
        stdout:
          "t: Tells the time\n  zone (string, required) As in TZ\n  all (optional)\n" +
          "  two (string, null, optional)\n  odd (optional)\nu\n",
        stderr: "",
      },
    ],
    [
      "the list as it came",
      ["--list", "--json"],
      [says({}), listed],
      {
        code: 0,
        stdout: `${JSON.stringify(listed.result.tools).replace("\u009b", "\\u009b")}\n`,
        stderr: "",
      },
    ],
    [
      "an empty list",
      ["--list"],
      [says({}), list()],
      { code: 0, stdout: "(no tools)\n", stderr: "" },
    ],
  ];
  for (const [what, options, [call, tools, era = ""], ended] of SAID) {
    test(`it shows ${what}`, async () => {
      const own = [JSON.stringify(call), JSON.stringify(tools ?? list("t")), era];
      assert.deepEqual(await peer("says", options, own), ended);
    });
  }

  test("it fails with the tool's reason, and speaks of no question where none was", async () => {
    assert.deepEqual(await pair("--ticker", "NOPE"), {
      code: 1,
      stdout: "",
      stderr: "The tool failed: Stooq has no price for NOPE (asked for as nope.us).\n",
    });
  });

  for (const protocol of [MODERN, LEGACY]) {
    test(`it names the flags where nobody can be asked (${protocol})`, async () => {
      const { code, stdout, stderr } = await pair("--protocol", protocol);
      assert.deepEqual({ code, stdout }, { code: 1, stdout: "" });
      assert.match(stderr, /ticker/);
      assert.match(stderr, /use a terminal, or --ticker, --answer or --defaults\.\n$/);
    });
  }

  test("it names the field that the flags leave open", async () => {
    const { code, stdout, stderr } = await pair("--protocol", LEGACY, "--defaults");
    assert.deepEqual({ code, stdout }, { code: 2, stdout: "" });
    assert.match(stderr, /look up\? ticker is required\. Give --answer ticker=…\.\n$/);
  });

  test("it fails with the server's reason when an answer is refused", async () => {
    const { code, stderr } = await pair("--answer", "ticker=no ticker");
    assert.equal(code, 2);
    assert.match(stderr, /"no ticker" is not a ticker symbol/);
  });

  test("it tells of the sample where nobody can be asked", async () => {
    const { code, stdout, stderr } = await pair(...DOWN, "--ticker", "NVDA");
    assert.deepEqual({ code, stdout }, { code: 1, stdout: "" });
    const flags = "use a terminal, or --answer or --defaults.";
    assert.match(
      stderr,
      /bundled price, but this client can't be asked whether it will do\.\n.*\n$/,
    );
    assert.ok(stderr.endsWith(`No question could be answered here: ${flags}\n`), stderr);
  });

  test("it does not consent to the sample unasked", async () => {
    const consent = (...args: string[]) => pair(...DOWN, "--ticker", "NVDA", ...args);
    const [unasked, agreed, refused] = await Promise.all([
      consent("--answer", "unused=x"),
      consent("--protocol", LEGACY, "--answer", "useSample=y"),
      consent("--answer", "useSample=no"),
    ]);
    assert.deepEqual([unasked.code, unasked.stdout], [2, ""]);
    assert.match(unasked.stderr, /--answer useSample=…/);
    assert.match(agreed.stdout, /^NVDA 177\.19 \(bundled sample/);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^The tool failed: Stooq could not be reached/);
  });

  // --- Streams ---------------------------------------------------------------------------

  test("it shows every line on stderr with -v, keeps stdout clean, and starts a command", async () => {
    const server = ["--", ...LOADER, "server.ts"];
    const args = ["--server", "node", "--env", `STOOQ_URL=${stooq.url}`, "-v"];
    const { stdout, stderr } = await run("client.ts", [
      ...[...args, "--ticker", "NVDA", ...server],
    ]);
    assert.equal(stdout, "NVDA 188.5\n");
    const lines = stderr.trimEnd().split("\n");
    const messages = lines.map((line) => JSON.parse(line.slice(2)));
    const methods = messages.map(({ method }, index) => [lines[index]?.[0], method]);
    assert.deepEqual(methods, [
      ["→", "server/discover"],
      ["←", undefined],
      ["→", "tools/list"],
      ["←", undefined],
      ["→", "tools/call"],
      ["←", undefined],
    ]);
  });

  test("it colours the directions if it is told to", async () => {
    const own = [JSON.stringify(failing("no"))];
    const colours = { FORCE_COLOR: "1" };
    const { stderr } = await peer("says", ["--tool", "any", "-v"], own, colours);
    assert.match(stderr, /\x1b\[36m→ .*\x1b\[39m\n\x1b\[33m← /);
  });

  const skip = existsSync("/dev/full") ? false : "needs /dev/full";
  test("it says so when its output could not be written", { skip }, async () => {
    const args = withPeer(
      "says",
      ["--tool", "t"],
      ['{"result":{"structuredContent":1}}'],
    );
    const { ended } = start(args, openSync("/dev/full", "w"));
    const stderr = "The result could not be written (ENOSPC).\n";
    assert.deepEqual(await ended, { code: 1, stderr });
  });

  test("it ends at SIGTERM though nobody reads what it writes", async () => {
    const own = Array.from({ length: 8 }, () => "x".repeat(100_000));
    const { child, ended } = start(withPeer("environment", ["--tool", "any"], own));
    child.stdout?.once("readable", () => child.kill("SIGTERM"));
    child.once("exit", () => child.stdout?.resume());
    assert.deepEqual(await ended, { code: 143, stderr: "Interrupted.\n" });
  });

  test("it takes a reader that has left for no failure, and waits for no input", async () => {
    const { child, ended } = start(withPeer("says", ["--list"]));
    child.stdout?.destroy();
    assert.deepEqual(await ended, { code: 0, stderr: "" });
  });

  // --- The server's process --------------------------------------------------------------

  test("it gives a server the listed variables, those that are named, and its arguments", async () => {
    const args = ["--tool", "any", "--args", '{"a":[1]}'];
    const named = ["--env", "ONE", "--env", "TWO=2=2", "--env", "E="];
    const env = { ONE: "1", SECRET: "s", LANG: "C", HTTPS_PROXY: "p", STOOQ_URL: "x" };
    const own = ["-x", "--", "a b"];
    const { stdout } = await peer("environment", [...args, ...named], own, env);
    const told = JSON.parse(stdout);
    assert.deepEqual(told.argv, own);
    assert.deepEqual(told.args, { a: [1] });
    const names = ["E", "HOME", "HTTPS_PROXY", "LANG", "ONE", "PATH", "TWO"];
    assert.deepEqual(Object.keys(told.env).sort(), names);
    assert.deepEqual([told.env.ONE, told.env.TWO, told.env.E], ["1", "2=2", ""]);
  });

  test("it says what is wrong with a server that does not start", async () => {
    const { code, stderr } = await client(["--server", "no-such-command"]);
    assert.equal(code, 3);
    assert.match(stderr, /^The server could not be started \(ENOENT\)[^\n]*\n$/);
  });

  for (const [signal, code] of [
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const) {
    test(`it cancels the call at ${signal}, and ends with ${code}`, async () => {
      const { child, ended } = start(withPeer("slow", ["--tool", "any", "-v"]));
      let seen = "";
      child.stderr?.on("data", (text) => {
        seen += text;
        if (/called \d/.test(seen) && !child.killed) child.kill(signal);
      });
      const { stderr, ...end } = await ended;
      assert.deepEqual(end, { code });
      assert.match(stderr, /→ .*"notifications\/cancelled","params":\{"requestId":3\}/);
      assert.equal(stderr.match(/→ .*notifications\/cancelled/g)?.length, 1);
      assert.match(stderr, /server: .*notifications\/cancelled/, "it reached the server");
      assert.match(stderr, /\nInterrupted\.\n/);
    });
  }

  for (const fault of ["result", "error", "version", "question"]) {
    test(`it lets nothing of a hostile ${fault} control the terminal`, async () => {
      const args = ["--tool", "any", "--defaults", "-v"];
      const { stdout, stderr } = await peer("hostile", args, [fault]);
      assert.match(stdout + stderr, /link/);
      assert.doesNotMatch(stderr, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u200b]/);
      assert.doesNotMatch(stdout, /[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
    });
  }

  // --- Answers from the command line -----------------------------------------------------

  const REFUSED: [string[], number, RegExp][] = [
    [["integer", "--answer", "integer=9"], 2, /--answer integer must be 0 to 6\.\n/],
    [["confirm", "--defaults"], 2, /Delete all 3 files\? Only a person/],
    [["page", "--defaults"], 1, /-32021/],
  ];
  for (const [args, exitCode, reason] of REFUSED) {
    test(`it refuses ${args.slice(1).join(" ")} for ${args[0]}`, async () => {
      const { code, stdout, stderr } = await forms(...args);
      assert.match(stderr, reason);
      assert.deepEqual({ code, stdout }, { code: exitCode, stdout: "" });
    });
  }

  test("it gives answers to the questions that have them, and says what was left", async () => {
    const answers = ["integer=3", "size=l", "text=Ada"].flatMap((it) => ["--answer", it]);
    const { code, stdout, stderr } = await forms("two", ...answers);
    assert.deepEqual(JSON.parse(stdout), {
      first: { action: "accept", content: { text: "Ada" } },
      second: { action: "accept", content: { integer: 3 } },
    });
    assert.equal(code, 2, "the server may have gone on without it");
    assert.equal(stderr, "--answer size: no question was left for it.\n");
  });

  test("it completes an answer with defaults, and takes the title of a choice", async () => {
    const answers = ["--answer", "titled=large", "--answer", "boolean=y"];
    const { stdout } = await forms("booking", ...answers);
    const content = { text: "Ada", titled: "l", boolean: true };
    assert.deepEqual(JSON.parse(stdout).form.content, content);
  });

  test("it answers a form with all its defaults", async () => {
    const { stdout } = await forms("everything", "--defaults");
    assert.deepEqual(JSON.parse(stdout).form.content, DEFAULTS);
  });

  test("it gives up on a server that asks for ever", async () => {
    const args = ["--tool", "any", "--defaults", "--timeout", "0.2"];
    const { code, stderr } = await peer("asks-forever", args);
    assert.equal(code, 3);
    assert.match(stderr, /^The server did not answer tools\/call within 0\.2 s/);
  });
});
