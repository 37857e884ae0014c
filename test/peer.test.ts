import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { PassThrough, Writable } from "node:stream";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import {
  ConnectionError,
  MAX_LINE_BYTES,
  Peer,
  RpcError,
  type Params,
} from "../mcp/peer.ts";
import { error, pipe, request, result, type Wire } from "./support.ts";

/** A peer that answers like a server: `echo` returns its params, `wait` waits for its signal. */
function server() {
  const { here, input, output } = pipe();
  const peer = new Peer(input, output);
  const notes: string[] = [];
  const notifications: unknown[] = [];
  peer.answersMalformed = true;
  peer.onNote = (note) => notes.push(note);
  peer.onNotification = (method, params) => notifications.push([method, params]);
  peer.onRequest = (method, params, { signal }) => {
    if (method === "echo") return params;
    if (method === "fail") throw new RpcError(-5, "mine", { a: 1 });
    if (method === "crash") throw new Error("SECRET of the inside");
    if (method === "wait") {
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(new DOMException("aborted"))),
      );
    }
    throw new RpcError(-32601, `No method ${method}`);
  };
  const listening = peer.listen();
  const end = async () => {
    here.output.end();
    await listening;
    output.end();
    return here.rest();
  };
  return { peer, wire: here, input, notes, notifications, end };
}

/** A peer that asks like a client. */
function client() {
  const { here, input, output } = pipe();
  const peer = new Peer(input, output);
  const notes: string[] = [];
  peer.onNote = (note) => notes.push(note);
  void peer.listen();
  return { peer, wire: here, notes };
}

// --- Ids ---------------------------------------------------------------------------------

for (const id of [0, 17, -1, "k-9", "", "0", 9007199254740991]) {
  test(`it answers under the id ${JSON.stringify(id)} as it came`, async () => {
    const { wire } = server();
    wire.send(request(id, "echo", { a: 1 }));
    assert.deepEqual(await wire.next(), result(id, { a: 1 }));
  });
}

for (const id of [null, true, {}, [], 1.5, 9007199254740993]) {
  test(`it refuses the id ${JSON.stringify(id)} and runs nothing`, async () => {
    const { wire } = server();
    wire.send(request(id, "echo", {}));
    const { error, ...rest } = await wire.next();
    assert.equal((error as RpcError).code, -32600);
    assert.ok(!("id" in rest));
  });
}

test('it takes 1 and "1" for two requests', async () => {
  const { wire } = server();
  wire.send(request(1, "echo", { a: "number" }));
  wire.send(request("1", "echo", { a: "string" }));
  assert.deepEqual(await wire.next(), result(1, { a: "number" }));
  assert.deepEqual(await wire.next(), result("1", { a: "string" }));
});

test("it refuses an id that is in use, without answering the request that has it", async () => {
  const { wire } = server();
  wire.send(request(1, "wait"));
  wire.send(request(1, "echo"));
  const answer = await wire.next();
  assert.ok(!("id" in answer));
  assert.equal((answer["error"] as RpcError).code, -32600);
});

// --- What is no message ------------------------------------------------------------------

const MALFORMED: [string, number, unknown?][] = [
  ['{"jsonrpc": nope', -32700],
  ["yes", -32700],
  ["[INFO] 1 tool", -32700],
  ["2026-12-01 started", -32700],
  ["nothing", -32700],
  ['{"a":', -32700],
  ["42", -32600],
  [" -1.5e+3\r", -32600],
  ["true", -32600],
  ['"x"', -32600],
  ["null", -32600],
  ["[]", -32600],
  ['[{"jsonrpc":"2.0","id":1,"method":"echo"}]', -32600],
  ["{}", -32600],
  ['{"id":31,"method":"echo"}', -32600, 31],
  ['{"jsonrpc":"1.0","id":31,"method":"echo"}', -32600, 31],
  ['{"jsonrpc":"2.0","id":5,"method":7}', -32600, 5],
  ['{"jsonrpc":"2.0","id":"five"}', -32600, "five"],
  ['{"jsonrpc":"2.0","id":6,"method":"echo","params":[1]}', -32602, 6],
  ['{"jsonrpc":"2.0","id":6,"method":"echo","params":"x"}', -32602, 6],
  ['{"jsonrpc":"2.0","id":6,"method":"echo","params":[]}', -32602, 6],
];
for (const [line, code, id] of MALFORMED) {
  test(`a server answers ${line} with ${code}, a client with silence`, async () => {
    const { wire } = server();
    wire.send(line);
    wire.send(request("after", "echo", {}));
    const answer = await wire.next();
    assert.equal((answer["error"] as RpcError).code, code);
    assert.deepEqual("id" in answer ? answer["id"] : undefined, id);
    assert.equal((await wire.next())["id"], "after");

    const other = client();
    const reply = other.peer.request("ask", {});
    await other.wire.next();
    other.wire.send(line);
    other.wire.send(result(1, {}));
    await reply;
    assert.equal(other.notes.length, 1);
  });
}

test("it answers bytes that are no UTF-8 with -32700", async () => {
  const { wire } = server();
  wire.output.write(Buffer.from([0x22, 0xff, 0x22, 0x0a]));
  assert.equal(((await wire.next())["error"] as RpcError).code, -32700);
});

test("it takes null for no params", async () => {
  const { wire, notifications, end } = server();
  wire.send(request(1, "echo", null));
  wire.send('{"jsonrpc":"2.0","method":"notifications/zzz","params":null}');
  assert.deepEqual(await end(), [result(1, {})]);
  assert.deepEqual(notifications, [["notifications/zzz", {}]]);
});

test("it answers no notification, whatever is wrong with it", async () => {
  const { wire, notifications, end } = server();
  wire.send('{"jsonrpc":"2.0","method":"notifications/zzz"}');
  wire.send('{"jsonrpc":"2.0","method":"echo","params":{"a":1}}');
  wire.send('{"jsonrpc":"2.0","method":"echo","params":3}');
  assert.deepEqual(await end(), []);
  assert.deepEqual(notifications, [
    ["notifications/zzz", {}],
    ["echo", { a: 1 }],
  ]);
});

test("it answers no response, whatever is wrong with it", async () => {
  const { wire, notes, end } = server();
  wire.send(result(999, {}));
  wire.send('{"id":1,"result":{}}');
  wire.send('{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}');
  wire.send('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}');
  wire.send('{"jsonrpc":"2.0","id":9,"error":{"code":1,"message":{"toString":1}}}');
  wire.send(`{"jsonrpc":"2.0","id":${"[".repeat(1e5)}${"]".repeat(1e5)},"result":{}}`);
  wire.send(request("after", "echo"));
  assert.deepEqual(await end(), [result("after", {})]);
  assert.equal(notes.length, 6);
});

// --- Bytes -------------------------------------------------------------------------------

test("it reads CRLF, blank lines and a byte order mark", async () => {
  const { wire } = server();
  wire.output.write("\uFEFF" + JSON.stringify(request(1, "echo", {})) + "\r\n\r\n  \n\n");
  wire.output.write(JSON.stringify(request(2, "echo", {})) + "\r\n");
  assert.equal((await wire.next())["id"], 1);
  assert.equal((await wire.next())["id"], 2);
});

test("it reads text that comes byte by byte", async () => {
  const { wire } = server();
  const text = "Société Générale — 東京 €🙂\u2028";
  for (const byte of Buffer.from(JSON.stringify(request(1, "echo", { text })) + "\n")) {
    wire.output.write(Buffer.from([byte]));
  }
  assert.deepEqual(await wire.next(), result(1, { text }));
});

test("it answers all that one chunk holds, in order, though the input has ended", async () => {
  const { wire, end } = server();
  const all = Array.from({ length: 5000 }, (_, id) => result(id, {}));
  const lines = all.map(({ id }) => JSON.stringify(request(id, "echo", {})));
  wire.output.write(lines.join("\n") + "\n");
  assert.deepEqual(await end(), all);
});

/** Writes more than a line may hold, but not its end. */
function writeLong(wire: Wire): void {
  const chunk = Buffer.alloc(1024 * 1024, "A");
  for (let sent = 0; sent <= MAX_LINE_BYTES * 1.25; sent += chunk.length)
    wire.output.write(chunk);
}

test("it refuses a line that is too long once, and goes on behind it", async () => {
  const { wire } = server();
  writeLong(wire);
  wire.output.write("\n");
  wire.send(request(1, "echo", {}));
  assert.equal(((await wire.next())["error"] as RpcError).code, -32700);
  assert.equal((await wire.next())["id"], 1);
});

test("it rejects what waits when an answer is too long, and goes on behind it", async () => {
  const { peer, wire, notes } = client();
  const replies = [peer.request("ask", {}), peer.request("ask", {})];
  const refused = replies.map((reply) =>
    assert.rejects(reply, /^Error: the answer is longer than 32 MiB$/),
  );
  wire.output.write('{"jsonrpc":"2.0","id":2,"result":{"a":"');
  writeLong(wire);
  wire.output.write('"}}\n');
  await Promise.all(refused);
  const last = peer.request("ask", {});
  wire.send(result(2, {}));
  wire.send(result(3, {}));
  await last;
  assert.equal(notes.length, 2); // of the line, and of the late answer
});

test("it goes on waiting for an answer when a client's line is too long", async () => {
  const { peer, wire } = server();
  const reply = peer.request("ask", {});
  writeLong(wire);
  wire.output.write("\n");
  wire.send(result(1, {}));
  await reply;
});

test("it ends with half a line, and says so", async () => {
  const { wire, notes, end } = server();
  wire.output.write('{"jsonrpc":"2.0"');
  assert.deepEqual(await end(), []);
  assert.match(notes.join(), /within a line/);
});

// --- Serving -----------------------------------------------------------------------------

test("it sends an RpcError as it is", async () => {
  const { wire } = server();
  wire.send(request(1, "fail"));
  assert.deepEqual(await wire.next(), error(1, -5, "mine", { a: 1 }));
});

test("it keeps any other error to itself, and its own side", async () => {
  const { wire, notes } = server();
  wire.send(request(1, "crash"));
  assert.deepEqual(
    await wire.next(),
    JSON.parse(JSON.stringify(error(1, -32603, "internal error"))),
  );
  assert.match(notes.join(), /SECRET/);
});

test("it drops requests that it has no handler for", async () => {
  const { peer, wire, notes } = client();
  wire.send(request("r1", "roots/list"));
  const reply = peer.request("ask", {});
  assert.equal((await wire.next())["method"], "ask");
  wire.send(result(1, {}));
  await reply;
  assert.match(notes.join(), /dropped the request roots\/list/);
});

test("it sends nothing for a request that was dropped", async () => {
  const { peer, wire, notes, end } = server();
  wire.send(request(5, "wait"));
  wire.send(request(6, "echo", {}));
  assert.equal((await wire.next())["id"], 6);
  peer.drop(5);
  peer.drop("unknown");
  peer.drop(undefined);
  assert.deepEqual(await end(), []);
  assert.deepEqual(notes, []);
  wire.send(request(5, "echo"));
});

test("it finishes when all is answered, and hurries what is slow", async () => {
  const { peer, wire } = server();
  wire.send(request(1, "wait"));
  await turn();
  await peer.finish(20);
  const { error } = await wire.next();
  assert.deepEqual(error, { code: -32603, message: "the server is stopping" });
});

test("it aborts many requests in a time that is in step with them, and answers each", async () => {
  const { peer, wire } = server();
  const abort = async (count: number) => {
    const ids = Array.from({ length: count }, (_, id) => id);
    const lines = ids.map((id) => JSON.stringify(request(id, "wait")));
    wire.output.write(`${lines.join("\n")}\n`);
    wire.send(request("last", "echo", {}));
    await wire.until({ id: "last" });
    const before = process.cpuUsage();
    await peer.finish(0);
    const { user, system } = process.cpuUsage(before);
    for (const id of ids) assert.equal((await wire.next())["id"], id);
    return user + system;
  };
  await abort(1000);
  const few = await abort(1000);
  const many = await abort(10_000);
  // Of the processor's time, which neighbours can't take. Quadratic would be 100 times.
  assert.ok(many < 40 * few, `${many} µs against ${few} µs`);
});

test("it finishes though requests come and are dropped meanwhile", async () => {
  const { peer, wire } = server();
  for (const id of [1, 2]) wire.send(request(id, "wait"));
  await turn();
  const finished = peer.finish(20);
  peer.drop(2);
  wire.send(request(3, "wait"));
  await finished;
  const ids = [await wire.next(), await wire.next()].map(({ id }) => id);
  assert.deepEqual(ids, [1, 3]);
});

// --- Junk without end --------------------------------------------------------------------

/** Writes so many lines of junk in chunks as Node reads them, and a message behind them. */
function flood(wire: Wire, junk: string, lines: number, message: Params): void {
  const all = Buffer.from(`${junk}\n`.repeat(lines));
  for (let at = 0; at < all.length; at += 65_536)
    wire.output.write(all.subarray(at, at + 65_536));
  wire.send(message);
}

const JUNK: [junk: string, lines: number][] = [
  ["y", 200_000],
  ["[1]", 200_000],
  ["{", 30_000],
  ['{"a":1}', 100_000],
];
for (const [junk, lines] of JUNK) {
  for (const side of ["server", "client"]) {
    test(`a ${side} hears its timers while it reads ${junk} without end`, async () => {
      const { here, input, output } = pipe();
      const peer = new Peer(input, output);
      peer.answersMalformed = side === "server";
      void peer.listen();
      output.resume();
      let fired = 0;
      const timer = setInterval(() => fired++, 1);
      if (side === "server") {
        const served = new Promise<void>((resolve) => {
          peer.onRequest = () => (resolve(), {});
        });
        flood(here, junk, lines, request(1, "echo"));
        await served;
      } else {
        const reply = peer.request("ask", {});
        flood(here, junk, lines, result(1, {}));
        await reply;
      }
      clearInterval(timer);
      assert.ok(fired >= 5, `${fired} times`);
    });
  }
}

test("it hears its timers while a program writes as fast as it can", async () => {
  const child = spawn("yes", { stdio: ["ignore", "pipe", "ignore"] });
  const peer = new Peer(child.stdout, new PassThrough());
  let lines = 0;
  const begun = new Promise<void>((resolve) => {
    peer.onNote = () => (lines++, resolve());
  });
  const ended = peer.listen();
  await begun;
  const before = lines;
  await new Promise((resolve) => setTimeout(resolve, 1));
  const between = lines - before;
  child.kill();
  await ended;
  // A turn that reads as long as there is something to read takes a million.
  assert.ok(between < 200_000, `${between} lines`);
});

test("it keeps few answers to junk for a side that does not read, and goes on", async () => {
  const { here, input } = pipe();
  let read = () => {};
  let last = "";
  const output = new Writable({
    decodeStrings: false,
    write: (chunk, _encoding, done) => ((last = String(chunk)), (read = done)),
    writev: (chunks, done) => ((last = String(chunks.at(-1)?.chunk)), (read = done)),
  });
  const peer = new Peer(input, output);
  peer.answersMalformed = true;
  peer.onRequest = () => ({});
  void peer.listen();
  const served = new Promise<void>((resolve) => {
    peer.onNotification = () => resolve();
  });
  flood(here, "y", 500_000, { jsonrpc: "2.0", method: "notifications/zzz" });
  await served;
  const kept = output.writableLength / MAX_LINE_BYTES;
  assert.ok(kept > 0.9 && kept < 1.1, `${kept} times the limit of a line`);
  here.send(request(1, "echo"));
  while (!last.includes('"id":1')) {
    const next = read;
    read = () => {};
    next();
    await turn();
  }
});

// --- Asking ------------------------------------------------------------------------------

test("it gives each request its own answer, in any order", async () => {
  const { peer, wire } = client();
  const replies = Array.from({ length: 50 }, (_, n) => peer.request("ask", { n }));
  const asked = [];
  for (let n = 0; n < 50; n++) asked.push(await wire.next());
  for (const { id, params } of asked.reverse()) wire.send(result(id, params));
  assert.deepEqual(
    await Promise.all(replies),
    Array.from({ length: 50 }, (_, n) => ({ n })),
  );
});

test("it rejects with the error that was answered", async () => {
  const { peer, wire } = client();
  const reply = peer.request("ask", {});
  await wire.next();
  wire.send(error(1, -32000, "no", [1]));
  await assert.rejects(
    reply,
    (e) => e instanceof RpcError && e.code === -32000 && e.message === "no",
  );
});

for (const answer of [
  { id: 1, result: {} },
  { jsonrpc: "2.0", id: 1, result: 3 },
  { jsonrpc: "2.0", id: 1, error: {} },
  { jsonrpc: "2.0", id: 1, error: { code: 1, message: { toString: 1 } } },
]) {
  test(`it rejects an answer like ${JSON.stringify(answer)}`, async () => {
    const { peer, wire } = client();
    const reply = peer.request("ask", {});
    await wire.next();
    wire.send(answer);
    await assert.rejects(reply, ConnectionError);
  });
}

test("it ignores unknown, second and text-typed answers", async () => {
  const { peer, wire, notes } = client();
  const reply = peer.request("ask", {});
  await wire.next();
  wire.send(result(999, {}));
  wire.send(result("1", { wrong: true }));
  wire.send(result(1, { right: true }));
  wire.send(result(1, { late: true }));
  assert.deepEqual(await reply, { right: true });
  const again = peer.request("ask", {});
  assert.equal((await wire.next())["id"], 2);
  wire.send(result(2, {}));
  await again;
  assert.equal(notes.length, 3);
});

test("it gives up when the signal aborts, and tells", async () => {
  const { peer, wire, notes } = client();
  const abort = new AbortController();
  const abandoned: unknown[] = [];
  const onAbandon = (id: unknown) => abandoned.push(id);
  const reply = peer.request("ask", {}, { signal: abort.signal, onAbandon });
  await wire.next();
  abort.abort(new Error("enough"));
  await assert.rejects(reply, /enough/);
  assert.deepEqual(abandoned, [1]);
  wire.send(result(1, {}));
  const next = peer.request("ask", {});
  await wire.next();
  wire.send(result(2, {}));
  await next;
  assert.equal(notes.length, 1);
});

test("it tells behind the request when that is given up while it is being sent", async () => {
  const { peer, wire } = client();
  const abort = new AbortController();
  peer.onLine = () => abort.abort(new Error("enough"));
  const onAbandon = (id: unknown) => peer.notify("given up", { id });
  await assert.rejects(
    peer.request("ask", {}, { signal: abort.signal, onAbandon }),
    /enough/,
  );
  assert.equal((await wire.next())["method"], "ask");
  assert.equal((await wire.next())["method"], "given up");
  await assert.rejects(
    peer.request("ask", {}, { signal: abort.signal, onAbandon }),
    /enough/,
  );
  peer.notify("last");
  assert.equal((await wire.next())["method"], "last");
});

test("it gives up what is asked within a request that is dropped, and asks no more", async () => {
  const { peer, wire } = server();
  const abandoned: unknown[] = [];
  const onAbandon = (id: unknown) => abandoned.push(id);
  const ended = new Promise<unknown>((resolve) => {
    peer.onRequest = async (_method, _params, within) => {
      await peer.request("first", {}, { within });
      const open = [1, 2].map(() => peer.request("ask", {}, { within, onAbandon }));
      const ends = await Promise.allSettled(open);
      const late = peer.request("late", {}, { within, onAbandon });
      resolve([...ends, ...(await Promise.allSettled([late]))].map(reasonOf));
      return {};
    };
  });
  const reasonOf = (end: PromiseSettledResult<unknown>) =>
    end.status === "rejected" ? end.reason.message : "answered";
  wire.send(request("a", "tool"));
  assert.equal((await wire.next())["method"], "first");
  wire.send(result(1, {}));
  for (const id of [2, 3]) assert.equal((await wire.next())["id"], id);
  peer.drop("a");
  assert.deepEqual(await ended, Array(3).fill("the request was cancelled"));
  assert.deepEqual(abandoned, [2, 3]);
  peer.notify("last");
  assert.equal((await wire.next())["method"], "last");
});

test("it gives up when a clock says so, tells once, and stops the clock", async () => {
  const { peer, wire } = client();
  const seen: unknown[] = [];
  let expire = (_reason: Error) => {};
  const options = {
    limit: (end: typeof expire) => ((expire = end), () => seen.push("stopped")),
    onAbandon: (id: unknown) => seen.push(id),
  };
  const reply = peer.request("ask", {}, options);
  await wire.next();
  expire(new Error("enough"));
  expire(new Error("again"));
  await assert.rejects(reply, /enough/);
  assert.deepEqual(seen, ["stopped", 1]);
  const answered = peer.request("ask", {}, options);
  await wire.next();
  wire.send(result(2, {}));
  await answered;
  expire(new Error("too late"));
  assert.deepEqual(seen, ["stopped", 1, "stopped"]);
});

test("it ends all waiting requests with the cause when it is closed, and later ones too", async () => {
  const { peer } = client();
  const replies = [peer.request("a", {}), peer.request("b", {})];
  peer.close(new ConnectionError("gone"));
  for (const reply of [...replies, peer.request("c", {})])
    await assert.rejects(reply, /gone/);
});

test("it shows every line that goes either way", async () => {
  const { peer, wire } = client();
  const lines: string[] = [];
  peer.onLine = (direction, line) => lines.push(`${direction} ${line}`);
  const reply = peer.request("ask", {});
  await wire.next();
  wire.send("junk");
  wire.send(result(1, {}));
  await reply;
  assert.deepEqual(lines, [
    'sent {"jsonrpc":"2.0","id":1,"method":"ask","params":{}}',
    "received junk",
    'received {"jsonrpc":"2.0","id":1,"result":{}}',
  ]);
});

test("it gives up a side that does not read", async () => {
  const input = new PassThrough();
  const output = new PassThrough();
  const peer = new Peer(input, output);
  const closed = new Promise((resolve) => output.on("close", resolve));
  const big = "x".repeat(MAX_LINE_BYTES);
  for (let n = 0; n < 6; n++) peer.notify("big", { big });
  await closed;
});
