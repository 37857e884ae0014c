/** The client's end of a connection in both eras: time limits, giving up, what comes in between. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import type { Answerer } from "../mcp/answer.ts";
import { RpcError, type Params } from "../mcp/peer.ts";
import { answerer, handshake, open, SCRIPTED } from "./ends.ts";
import {
  error,
  LEGACY,
  MODERN,
  notification,
  question,
  request,
  result,
  settled,
  stopTime,
  textResult,
  type Message,
  type Wire,
} from "./support.ts";

const call = (args: Params = {}) => ({ name: "t", arguments: args });
const { content: done } = textResult("done");

// --- Time limits -------------------------------------------------------------------------

for (const { era, begin, ask } of SCRIPTED) {
  test(`it gives up a call that takes too long, once, and takes no late answer (${era})`, async (t) => {
    const pass = stopTime(t);
    let isOver = false;
    const { session, notes } = await open(
      async (wire) => {
        await begin(wire);
        const { id } = await wire.next();
        await pass(999);
        assert.ok(!isOver);
        await pass(1);
        assert.ok(isOver);
        assert.deepEqual(await wire.next(), notification("cancelled", { requestId: id }));
        wire.send(result(id, textResult("late")));
        wire.send(result((await wire.next()).id, textResult("done")));
      },
      { timeoutMs: 1000 },
    );
    const calling = session.request("tools/call", call());
    await assert.rejects(
      calling.finally(() => (isOver = true)),
      /: the server did not answer tools\/call within 1 s \(see --timeout\)$/,
    );
    const { content } = await session.request("tools/call", call());
    assert.deepEqual(content, done);
    assert.equal(notes.length, 1);
  });

  test(`it does not count the time in which a person thinks (${era})`, async (t) => {
    const pass = stopTime(t);
    const form: Answerer["form"] = async () => {
      await pass(3_600_000);
      await pass(50); // out of step with every timer
      return { action: "accept", content: { ticker: "NVDA" } };
    };
    let isOver = false;
    const { session } = await open(
      async (wire) => {
        await begin(wire);
        const { id: first } = await wire.next();
        await pass(900);
        const { id } = await ask(wire, first, question());
        await pass(99);
        wire.send(result(id, textResult("done")));
        const { id: second } = await wire.next();
        const { id: last } = await ask(wire, second, question());
        await pass(999);
        assert.ok(!isOver);
        await pass(50); // the grain of the clock
        assert.deepEqual(
          await wire.next(),
          notification("cancelled", { requestId: last }),
        );
      },
      { timeoutMs: 1000, answerer: { form } },
    );
    const { content } = await session.request("tools/call", call());
    assert.deepEqual(content, done);
    const calling = session.request("tools/call", call());
    await assert.rejects(
      calling.finally(() => (isOver = true)),
      /within 1 s/,
    );
  });

  test(`it starts the limit anew at progress, ten times at most (${era})`, async (t) => {
    const pass = stopTime(t);
    const heard: string[] = [];
    const { session } = await open(
      async (wire) => {
        await begin(wire);
        const { id, params } = await wire.next();
        const { progressToken } = params["_meta"] as Params;
        for (let step = 1; step <= 11; step++) {
          await pass(900);
          const message = `step ${step}`;
          const progress = { progressToken, progress: step, message };
          wire.send(notification("progress", progress));
          await settled();
        }
        await pass(99);
        assert.equal(heard.length, 11);
        assert.equal(heard[10], "step 11");
        await pass(1); // 10 s in all
        assert.deepEqual(await wire.next(), notification("cancelled", { requestId: id }));
      },
      { timeoutMs: 1000, onProgress: (text) => heard.push(text) },
    );
    await assert.rejects(session.request("tools/call", call()), /within 1 s/);
  });

  test(`it takes no other sign of life for progress (${era})`, async (t) => {
    const pass = stopTime(t);
    const heard: string[] = [];
    const { session } = await open(
      async (wire) => {
        await begin(wire);
        const { id, params } = await wire.next();
        const { progressToken } = params["_meta"] as Params;
        await pass(900);
        for (const other of [undefined, null, String(progressToken), 99])
          wire.send(notification("progress", { progressToken: other, progress: 1 }));
        wire.send(notification("message", { level: "info", data: "still here" }));
        wire.send(notification("message", { level: "info", data: { not: "text" } }));
        wire.send("starting up…");
        await pass(100);
        assert.deepEqual(await wire.next(), notification("cancelled", { requestId: id }));
      },
      { timeoutMs: 1000, onProgress: (text) => heard.push(text) },
    );
    await assert.rejects(session.request("tools/call", call()), /within 1 s/);
    assert.deepEqual(heard, ["still here"]);
  });

  test(`it wants progress of a call, and of nothing else (${era})`, async () => {
    const methods = ["tools/list", "prompts/get", "tools/call", "x/y"];
    const { session } = await open(async (wire) => {
      await begin(wire);
      const first = wire.seen.slice(0, 1);
      const more: Message[] = [];
      for (const _ of methods) {
        more.push(await wire.next());
        wire.send(result(more.at(-1)?.id, {}));
      }
      for (const { method, params } of [...first, ...more]) {
        const { progressToken } = (params["_meta"] ?? {}) as Params;
        assert.equal(progressToken !== undefined, method === "tools/call", method);
      }
    });
    for (const method of methods) await session.request(method);
  });

  test(`it tells what it waits for, and when that is over (${era})`, async () => {
    const log: string[] = [];
    const onWait = (method: string) => {
      log.push(method);
      return () => void log.push(`- ${method}`);
    };
    const { session } = await open(
      async (wire) => {
        await begin(wire);
        wire.send(result((await wire.next()).id, {}));
        wire.send(error((await wire.next()).id, -32602));
      },
      { onWait },
    );
    log.length = 0;
    await session.request("tools/list");
    await session.request("tools/call", call()).catch(() => {});
    assert.deepEqual(log, ["tools/list", "- tools/list", "tools/call", "- tools/call"]);
  });
}

test("it goes on counting while it refuses questions", async (t) => {
  const pass = stopTime(t);
  const { session } = await open(
    async (wire) => {
      await handshake(wire);
      const { id } = await wire.next();
      for (let n = 1; n <= 10; n++) {
        wire.send({ jsonrpc: "2.0", id: "q", ...question({ ticker: { type: 7 } }) });
        assert.equal((await wire.next()).error.code, -32602);
        wire.send(request("p", "ping"));
        assert.equal((await wire.next()).id, "p");
        await pass(100);
      }
      assert.deepEqual(await wire.next(), notification("cancelled", { requestId: id }));
    },
    { timeoutMs: 1000, answerer: answerer() },
  );
  await assert.rejects(session.request("tools/call", call()), /within 1 s/);
});

// --- Giving up ---------------------------------------------------------------------------

for (const { era, begin } of SCRIPTED) {
  test(`it cancels a call whose signal aborts (${era})`, async () => {
    const abort = new AbortController();
    const { session } = await open(async (wire) => {
      await begin(wire);
      const { id } = await wire.next();
      abort.abort(new Error("enough"));
      assert.deepEqual(await wire.next(), notification("cancelled", { requestId: id }));
    });
    await assert.rejects(session.request("tools/call", call(), abort.signal), /enough/);
  });

  test(`it cancels a call that is given up while it is being sent (${era})`, async () => {
    const abort = new AbortController();
    const onLine = (direction: string, line: string) => {
      const isCall = direction === "sent" && line.includes("tools/call");
      if (isCall) abort.abort(new Error("enough"));
    };
    const script = async (wire: Wire) => {
      await begin(wire);
      const { id } = await wire.next();
      assert.deepEqual(await wire.next(), notification("cancelled", { requestId: id }));
    };
    const { session } = await open(script, { onLine });
    await assert.rejects(session.request("tools/call", call(), abort.signal), /enough/);
  });
}

test("it never cancels the request that opens a connection", async (t) => {
  const pass = stopTime(t);
  for (const [protocol, first] of [
    [MODERN, "server/discover"],
    [LEGACY, "initialize"],
  ] as const) {
    for (const how of ["by the clock", "by the signal"]) {
      const abort = new AbortController();
      const opening = open(
        async (wire) => {
          assert.equal((await wire.next()).method, first);
          if (how === "by the clock") await pass(1000);
          else abort.abort(new Error("enough"));
          assert.deepEqual(await wire.rest(), []);
        },
        { protocol, timeoutMs: 1000, signal: abort.signal },
      );
      const late = new RegExp(`did not answer ${first} within 1 s`);
      await assert.rejects(opening, how === "by the clock" ? late : /enough/);
    }
  }
});

test("it waits ten seconds for the answer to the probe, and does not cancel it", async (t) => {
  const pass = stopTime(t);
  const { session } = await open(async (wire) => {
    const { method } = await wire.next();
    assert.equal(method, "server/discover");
    await pass(9_999);
    assert.equal(wire.seen.length, 1);
    await pass(1);
    await handshake(wire);
  });
  assert.equal(session.version, LEGACY);
});

// --- What comes in between ---------------------------------------------------------------

const JUNK = ["starting up…", "{ oops", "}", "null", "[]", "7", "", "\r"];
const NOTIFICATIONS = [
  "message",
  "progress",
  "tools/list_changed",
  "zzz",
  "elicitation/complete",
  "cancelled",
];

for (const { era, begin } of SCRIPTED) {
  test(`it gives each of many calls its own answer, in any order (${era})`, async () => {
    const { session } = await open(async (wire) => {
      await begin(wire);
      const calls = [];
      for (let n = 0; n < 20; n++) calls.push(await wire.next());
      for (const { id, params } of calls.reverse()) {
        const { n } = params["arguments"] as { n: number };
        wire.send(result(id, textResult(`answer ${n}`)));
      }
    });
    const calls = Array.from({ length: 20 }, (_, n) =>
      session.request("tools/call", call({ n })),
    );
    for (const [n, { content }] of (await Promise.all(calls)).entries()) {
      assert.deepEqual(content, textResult(`answer ${n}`).content);
    }
  });

  test(`it passes the error on that a call was answered with (${era})`, async () => {
    const { session } = await open(async (wire) => {
      await begin(wire);
      wire.send(error((await wire.next()).id, -32602, "Unknown tool: t", { a: 1 }));
    });
    await assert.rejects(
      session.request("tools/call", call()),
      new RpcError(-32602, "Unknown tool: t", { a: 1 }),
    );
  });

  test(`it says that the server ended, in the middle of a call and after (${era})`, async () => {
    const { session } = await open(async (wire) => {
      await begin(wire);
      await wire.next();
    });
    for (let n = 0; n < 2; n++) {
      const calling = session.request("tools/call", call());
      await assert.rejects(calling, /the server ended/);
    }
  });

  test(`it goes on over junk, notifications and strange answers (${era})`, async () => {
    const { session } = await open(async (wire) => {
      await begin(wire);
      const { id } = await wire.next();
      for (const line of JUNK) wire.send(line);
      for (const method of NOTIFICATIONS) {
        wire.send(notification(method, { requestId: "x", progressToken: "x" }));
        wire.send(notification(method));
      }
      wire.send({ jsonrpc: "2.0", error: { code: -32700, message: "x" } });
      wire.send({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "x" } });
      wire.send(result(999, {}));
      wire.send(result(String(id), textResult("wrong")));
      wire.send(result(id, textResult("done")));
      wire.send(result(id, textResult("late")));
    });
    const { content } = await session.request("tools/call", call());
    assert.deepEqual(content, done);
  });
}

test("it takes the server's questions off the screen when the server ends", async () => {
  for (const { begin, era } of SCRIPTED) {
    let hasGone: Promise<unknown> | undefined;
    let hasAsked = () => {};
    const asked = new Promise<void>((resolve) => (hasAsked = resolve));
    const form: Answerer["form"] = (_, signal) =>
      new Promise((_, reject) => {
        hasGone = once(signal as AbortSignal, "abort").then(() => reject(signal?.reason));
        hasAsked();
      });
    const { session } = await open(
      async (wire) => {
        await begin(wire);
        const { id } = await wire.next();
        const inputRequests = { q: question() };
        if (era === MODERN)
          wire.send(result(id, { resultType: "input_required", inputRequests }));
        else wire.send({ jsonrpc: "2.0", id: "q", ...question() });
        await asked;
      },
      { answerer: { form } },
    );
    await assert.rejects(session.request("tools/call", call()), /the server ended/);
    await hasGone;
  }
});
