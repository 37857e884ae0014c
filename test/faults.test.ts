/**
 * The programs with peers that misbehave, as real processes. The steps at which a server may
 * leave are all gone through in `npm run soak`; here are those that differ most.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import { startStooq } from "./stooq.ts";
import { initialize, LOADER, meta, request, ROOT, run } from "./support.ts";

const isSoak = Boolean(process.env["SOAK"]);
const never = await startStooq(() => {});
after(() => never.close());

const peer = (name: string, args: string[] = [], own: string[] = []) =>
  run("client.ts", [
    "--server",
    `test/peers/${name}.ts`,
    "--tool",
    "any",
    ...args,
    "--",
    ...own,
  ]);

/** What still runs with this mark in its command line. */
function leftovers(mark: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll(
          "\0",
          " ",
        );
        const state = /^State:\s+(\S)/m.exec(
          readFileSync(`/proc/${pid}/status`, "utf8"),
        )?.[1];
        return command.includes(mark) && state !== "Z" ? [command] : [];
      } catch {
        return []; // it has just ended
      }
    });
}

// --- Servers with a fault ----------------------------------------------------------------

describe("servers with a fault", { concurrency: 4 }, () => {
  const DONE = { code: 0, stdout: "done\n", stderr: "" };
  const GOOD: [string, string[], { code: number; stdout: string; stderr: string }][] = [
    ["junk", [], DONE],
    ["dies-on-probe", [], DONE],
    ["stderr-flood", [], DONE],
    ["silent", ["--timeout", "1"], DONE],
    ["answers-twice", [], DONE],
    ["wrong-id", [], DONE],
    ["same-id", ["--defaults"], DONE],
    ["long-line", [], DONE],
    ["half-lines", [], { ...DONE, stdout: "Société Générale — 東京 €🙂\n" }],
    [
      "forbidden-schema",
      ["--defaults"],
      { ...DONE, stdout: `${Array(10).fill(-32602).join(" ")}\n` },
    ],
  ];
  for (const [name, args, ended] of GOOD) {
    test(`the client copes with ${name}`, async () => {
      assert.deepEqual(await peer(name, args), ended);
    });
  }

  const BAD: [string, string[], string[], RegExp][] = [
    [
      "dies-in-call",
      [],
      [],
      /^The server ended with exit code 7; it said: out of luck\.$/m,
    ],
    [
      "dies-after-initialize",
      ["--protocol", "2025-11-25"],
      [],
      /^The server ended with exit code 3\.$/m,
    ],
    ["no-newline", [], [], /^The server ended with exit code 0\.$/m],
    ["unknown-result-type", [], [], /^The server answered with resultType "task"\.$/m],
    [
      "wrong-version",
      [],
      [],
      /^The server speaks version 1998-07-01, this client 2025-11-25/m,
    ],
    [
      "slow",
      ["--timeout", "1"],
      [],
      /^The server did not answer tools\/call within 1 s/m,
    ],
    ["asks-forever", ["--defaults"], [], /^The server asks again and again\.$/m],
    [
      "asks-forever",
      ["--defaults"],
      ["modern"],
      /^The server still asks after 10 rounds\.$/m,
    ],
  ];
  for (const [name, args, own, reason] of BAD) {
    test(`the client says what is wrong with ${[name, ...own].join(" ")}`, async () => {
      const { code, stdout, stderr } = await peer(name, args, own);
      assert.equal(code, 3);
      assert.equal(stdout, "");
      assert.match(stderr, reason);
      assert.doesNotMatch(stderr, /^\s+at /m, "no stack trace");
    });
  }
  test("it prints the result of a stubborn server at once, and leaves no process", async () => {
    const { PATH = "" } = process.env;
    const args = [
      ...LOADER,
      "client.ts",
      "--server",
      "test/peers/stubborn.ts",
      "--tool",
      "any",
      "-v",
    ];
    const child = spawn(process.execPath, args, { cwd: ROOT, env: { PATH } });
    let stderr = "";
    child.stderr.on("data", (text) => (stderr += text));
    const [line] = await new Promise<Buffer[]>((resolve) =>
      child.stdout.once("data", (d) => resolve([d])),
    );
    assert.equal(String(line), "done\n");
    const pid = Number(/pid (\d+)/.exec(stderr)?.[1]);
    process.kill(pid, 0);
    assert.equal(await new Promise((resolve) => child.on("close", resolve)), 0);
    assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
  });
});

// --- A server that leaves ----------------------------------------------------------------

describe("a server that leaves", { concurrency: 4 }, () => {
  const STEPS = [
    "start",
    "probe",
    "initialize",
    "initialized",
    "call",
    "asked",
    "answered",
  ];
  const WAYS: Record<string, RegExp> = {
    exit: /^The server ended with exit code 9\./,
    kill: /^The server was ended by SIGKILL\./,
    "close-stdout": /^The server closed its output\./,
    "close-stdin": /^The server did not answer \S+ within 2 s/,
    stop: /^The server did not answer \S+ within 2 s/,
  };
  const few = [
    "call exit legacy",
    "asked kill modern",
    "call close-stdout modern",
    "call stop legacy",
  ];
  for (const era of ["modern", "legacy"]) {
    for (const step of STEPS) {
      if (era === "modern" && step.startsWith("initialize")) continue;
      for (const [how, reason] of Object.entries(WAYS)) {
        const what = `${step} ${how} ${era}`;
        if (!isSoak && !few.includes(what)) continue;
        test(`the client says how the server left: ${what}`, async () => {
          const mark = `mark-${process.pid}-${what.replaceAll(" ", "-")}`;
          const protocol = era === "modern" ? "2026-07-28" : "auto";
          const args = ["--timeout", "2", "--defaults", "--protocol", protocol];
          const { code, stdout, stderr } = await peer("leaves", args, [
            step,
            how,
            era,
            mark,
          ]);
          // A server that leaves at the probe is started again, and not probed.
          const isSaved = step === "probe" && era === "legacy" && !/stop|stdin/.test(how);
          assert.equal(stdout, isSaved ? "done\n" : "");
          assert.equal(code, isSaved ? 0 : 3);
          if (!["start", "probe"].includes(step)) assert.match(stderr, reason);
          assert.doesNotMatch(stderr, /^\s+at /m, "no stack trace");
          assert.deepEqual(leftovers(mark), []);
        });
      }
    }
  }
});

// --- A client that leaves ----------------------------------------------------------------

describe("a client that leaves", { concurrency: 4 }, () => {
  const { PATH = "" } = process.env;
  const line = (message: object) => `${JSON.stringify(message)}\n`;
  const call = (args: object, isModern: boolean) =>
    line(
      request(2, "tools/call", {
        name: "get_stock_price",
        arguments: args,
        ...(isModern && { _meta: meta({ elicitation: {} }) }),
      }),
    );
  /** What has been said when the client leaves; a fetch that never ends runs in the last two. */
  const TALKS: Record<string, string> = {
    "without a word": "",
    "with half a line": '{"jsonrpc":"2.0","id":1,"meth',
    "after initialize": line(initialize({ elicitation: {} })),
    "with a question open": line(initialize({ elicitation: {} })) + call({}, false),
    "with a modern call answered": call({}, true),
    "with a legacy call running": line(initialize()) + call({ ticker: "NVDA" }, false),
    "with a modern call running": call({ ticker: "NVDA" }, true),
  };
  for (const [when, text] of Object.entries(TALKS)) {
    for (const how of ["closes both ends", "closes its input only", "is killed"]) {
      if (!isSoak && (how === "is killed") !== (when === "with a modern call running"))
        continue;
      test(`the server ends in time when the client ${how} ${when}`, async () => {
        const args = [...LOADER, "server.ts"];
        const env = { PATH, STOOQ_URL: never.url };
        const server = spawn(process.execPath, args, { cwd: ROOT, env });
        server.stdin.on("error", () => {});
        let stderr = "";
        server.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
        const closed = new Promise<number | null>((resolve) =>
          server.on("exit", resolve),
        );
        server.stdin.write(text);
        await new Promise((resolve) => setTimeout(resolve, 400));
        const begin = performance.now();
        server.stdin.end();
        if (how === "closes both ends") server.stdout.destroy();
        // To the server a client that is killed looks like one that has closed everything.
        if (how === "is killed") for (const pipe of server.stdio) pipe?.destroy();
        assert.equal(await closed, 0);
        assert.ok(performance.now() - begin < 6000);
        assert.doesNotMatch(stderr, /^\s+at /m, "no stack trace");
      });
    }
  }

  test("the server answers what it has read in five seconds, however slow the fetch", async () => {
    const input = call({ ticker: "NVDA" }, true);
    const { code, stdout, stderr } = await run("server.ts", [], {
      input,
      env: { STOOQ_URL: never.url },
    });
    assert.equal(code, 0);
    assert.equal(stderr, "");
    assert.equal(JSON.parse(stdout).id, 2);
  });
});
