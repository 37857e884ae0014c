/**
 * Both ends with peers that misbehave, as real processes. The steps at which a server may leave
 * are all gone through in `npm run soak`; here are those that differ most.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Answerer } from "../mcp/answer.ts";
import { callTool } from "../mcp/connect.ts";
import { fillDefaults } from "../mcp/form.ts";
import type { Options } from "../mcp/link.ts";
import { ConnectionError } from "../mcp/peer.ts";
import { startProcess } from "../mcp/process.ts";
import { BUILT } from "./built.ts";
import { connect } from "./ends.ts";
import { startStooq } from "./stooq.ts";
import { initialize, LEGACY, meta, MODERN, request, run } from "./support.ts";

const isSoak = Boolean(process.env["SOAK"]);
const never = await startStooq(() => {});
after(() => never.close());

const form: Answerer["form"] = async ({ fields }) => ({
  action: "accept",
  content: fillDefaults(fields, {}),
});

/** Calls a tool of a peer that is a process, from here. Returns its text, or the failure. */
async function callPeer(
  name: string,
  options: Partial<Options> = {},
  own: string[] = [],
): Promise<string> {
  const args = [`test/peers/${name}.mjs`, ...own];
  const start = () => startProcess("node", args, {}, () => {});
  try {
    const session = await connect(start, { answerer: { form }, ...options });
    try {
      const { content } = await callTool(session, "any");
      return content.map(({ text }) => text).join("\n");
    } finally {
      await session.close();
    }
  } catch (error) {
    if (error instanceof ConnectionError) return error.message;
    throw error;
  }
}

/** What still runs with this mark in its command line. */
function running(mark: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll(
          "\0",
          " ",
        );
        const status = readFileSync(`/proc/${pid}/status`, "utf8");
        const isZombie = /^State:\s+Z/m.test(status);
        return command.includes(mark) && !isZombie ? [command] : [];
      } catch {
        return []; // it has just ended
      }
    });
}

/** Waits until nothing has this mark any more: what was killed takes a moment to go. */
async function leave(mark: string): Promise<void> {
  for (let wait = 0; running(mark).length > 0 && wait < 100; wait++) await sleep(100);
  assert.deepEqual(running(mark), []);
}

/** Starts a script of ours, where a test needs more of the process than its end. */
function start(script: string, args: string[] = [], env = {}) {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, [script, ...args], {
    cwd: BUILT.cwd,
    env: { PATH, HOME, ...env },
  });
  child.stdin.on("error", () => {});
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
  const ended = once(child, "close").then(([code]) => ({ code, stderr }));
  return { child, ended };
}

// The longest sleep most of their time, so they run beside each other.
describe("peers with a fault", { concurrency: 4 }, () => {
  // --- A server with a fault -----------------------------------------------------------

  const GOOD: [string, string, Partial<Options>?][] = [
    ["junk", "done"],
    ["dies-on-probe", "done"],
    ["stderr-flood", "done"],
    ["silent", "done", { timeoutMs: 2000 }],
    ["answers-twice", "done"],
    ["wrong-id", "done"],
    ["same-id", "done"],
    ["half-lines", "Société Générale — 東京 €🙂"],
    ["forbidden-schema", Array(10).fill(-32602).join(" ")],
  ];
  for (const [name, text, options] of GOOD) {
    test(`the client copes with ${name}`, async () => {
      assert.equal(await callPeer(name, options), text);
    });
  }

  const BAD: [string, RegExp, Partial<Options>?, string[]?][] = [
    ["dies-in-call", /^the server ended with exit code 7; it said: out of luck$/],
    [
      "dies-after-initialize",
      /^the server ended with exit code 3$/,
      { protocol: LEGACY },
    ],
    ["long-line", /^the answer is longer than 32 MiB$/],
    ["no-newline", /^the server ended with exit code 0$/],
    ["unknown-result-type", /^the server answered with resultType "task"$/],
    ["wrong-version", /^the server speaks version 1998-07-01, this client 2025-11-25/],
    ["slow", /^the server did not answer \S+ within 1 s/, { timeoutMs: 1000 }],
    // Its questions are judged and refused at once: no person holds the clock.
    [
      "asks-forever",
      /^the server did not answer \S+ within 0\.5 s/,
      { timeoutMs: 500 },
      ["invalid"],
    ],
    ["asks-forever", /^the server still asks after 20 rounds$/, {}, ["modern"]],
  ];
  for (const [name, reason, options, own] of BAD) {
    test(`the client says what is wrong with ${name} ${own ?? ""}`, async () => {
      assert.match(await callPeer(name, options, own), reason);
    });
  }

  test("the program says it in a sentence, without a stack trace", async () => {
    const peer = [
      "--server",
      "node",
      "--tool",
      "any",
      "--",
      "test/peers/dies-in-call.mjs",
    ];
    assert.deepEqual(await run("client.mjs", peer, BUILT), {
      code: 3,
      stdout: "",
      stderr: "The server ended with exit code 7; it said: out of luck.\n",
    });
  });

  test("it prints the result of a stubborn server at once, and leaves no process", async () => {
    const mark = `stubborn-${process.pid}`;
    const peer = ["--", "test/peers/stubborn.mjs", mark];
    const { child, ended } = start("client.mjs", ["--server", "node", ...peer]);
    assert.equal(String(await once(child.stdout, "data")), "done\n");
    const isServer = (command: string) => command.startsWith("node test");
    assert.equal(running(mark).filter(isServer).length, 1);
    assert.equal((await ended).code, 0);
    await leave(mark);
  });

  // It ends with its input, so that a machine has it no longer than a test.
  const talker = ["--", "-c", "yes & cat > /dev/null; kill $!"];

  test("its time limit holds for a server that never stops talking", async () => {
    const { code, stderr } = await run(
      "client.mjs",
      ["--server", "sh", "--timeout", "0.2", ...talker],
      BUILT,
    );
    assert.equal(code, 3);
    assert.match(stderr, /^The server did not answer initialize within 0\.2 s/);
  });

  test("it hears Ctrl-C while a server never stops talking", async () => {
    const { child, ended } = start("client.mjs", ["--server", "sh", "-v", ...talker]);
    child.stderr.once("data", () => child.kill("SIGINT"));
    assert.equal((await ended).code, 130);
  });

  // --- A server that leaves ------------------------------------------------------------

  const STEPS = "start probe initialize initialized call asked answered".split(" ");
  const WAYS: Record<string, RegExp> = {
    exit: /^the server ended with exit code 9/,
    kill: /^the server was ended by SIGKILL/,
    "close-stdout": /^the server closed its output/,
    "close-stdin": /^the server did not answer \S+ within 2 s/,
    stop: /^the server did not answer \S+ within 2 s/,
  };
  const LEAVING = [
    "call exit legacy",
    "asked kill modern",
    "call close-stdout modern",
    "call stop legacy",
    "probe exit legacy",
  ];
  for (const era of ["modern", "legacy"]) {
    for (const step of STEPS) {
      if (era === "modern" && step.startsWith("initialize")) continue;
      for (const [how, reason] of Object.entries(WAYS)) {
        const what = `${step} ${how} ${era}`;
        if (!isSoak && !LEAVING.includes(what)) continue;
        test(`the client says how the server left: ${what}`, async () => {
          const mark = `mark-${process.pid}-${what.replaceAll(" ", "-")}`;
          const isTimed = /stop|stdin/.test(how);
          const text = await callPeer(
            "leaves",
            {
              protocol: era === "modern" ? MODERN : "auto",
              ...(isTimed && { timeoutMs: 2000 }),
            },
            [step, how, era, mark],
          );
          // A server that leaves at the probe is started again, and not probed.
          const isSaved = step === "probe" && era === "legacy" && !isTimed;
          if (isSaved) assert.equal(text, "done");
          else if (step !== "start" && step !== "probe") assert.match(text, reason);
          else assert.notEqual(text, "done");
          await leave(mark);
        });
      }
    }
  }

  // --- A client that leaves ------------------------------------------------------------

  const line = (message: object) => `${JSON.stringify(message)}\n`;
  const call = (args: object, _meta?: object) =>
    line(request(2, "tools/call", { name: "get_stock_price", arguments: args, _meta }));
  const modern = meta({ elicitation: {} });
  const initialized = line({ jsonrpc: "2.0", method: "notifications/initialized" });
  const legacy = line(initialize({ elicitation: {} })) + initialized;
  /** What has been said when the client leaves; a fetch that never ends runs in the last two. */
  const TALKS: Record<string, string> = {
    "without a word": "",
    "with half a line": '{"jsonrpc":"2.0","id":1,"meth',
    "after initialize": legacy,
    "with a question open": legacy + call({}),
    "with a modern call answered": call({}, modern),
    "with a legacy call running": legacy + call({ ticker: "NVDA" }),
    "with a modern call running": call({ ticker: "NVDA" }, modern),
  };
  const FEW = [
    "closes both ends without a word",
    "closes its input only with half a line",
    "closes its input only with a question open",
    "closes both ends with a legacy call running",
    "is killed with a modern call running",
  ];
  for (const [when, text] of Object.entries(TALKS)) {
    for (const how of ["closes both ends", "closes its input only", "is killed"]) {
      if (!isSoak && !FEW.includes(`${how} ${when}`)) continue;
      test(`the server ends in time when the client ${how} ${when}`, async () => {
        const { child, ended } = start("server.mjs", [], { STOOQ_URL: never.url });
        const lines = text.slice(0, text.lastIndexOf("\n") + 1);
        child.stdin.write(lines + line(request("read", "ping", meta())));
        // The clock starts when all of it has been read, of which this answer is the proof.
        let answers = "";
        for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
          if ((answers += chunk).includes('"id":"read"')) break;
        }
        const begin = performance.now();
        child.stdin.end(text.slice(lines.length));
        child.stdout.resume();
        if (how === "closes both ends") child.stdout.destroy();
        // To the server a client that is killed looks like one that has closed everything.
        if (how === "is killed") for (const pipe of child.stdio) pipe?.destroy();
        const { code, stderr } = await ended;
        assert.equal(code, 0);
        assert.ok(performance.now() - begin < 15_000, "it has 5 s");
        assert.doesNotMatch(stderr, /^\s+at /m, "no stack trace");
      });
    }
  }

  test("the server answers what it has read, however slow the fetch", async () => {
    const input = call({ ticker: "NVDA" }, modern);
    const env = { STOOQ_URL: never.url };
    const { code, stdout, stderr } = await run("server.mjs", [], {
      ...BUILT,
      input,
      env,
    });
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    assert.equal(JSON.parse(stdout).id, 2);
  });
});
