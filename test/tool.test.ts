/** A tool in one line of thought: what its author writes, and what travels, in both eras. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import type { Answerer } from "../mcp/answer.ts";
import type { RpcError } from "../mcp/peer.ts";
import type { Params } from "../mcp/peer.ts";
import type { ElicitResult } from "../mcp/schema.ts";
import { Refused, tool, ToolError, type Run, type Tool } from "../mcp/tool.ts";
import { connect, inMemory, start } from "./ends.ts";
import { LEGACY, meta, MODERN, pipe, request } from "./support.ts";

const ERAS = [MODERN, LEGACY];
const Name = z.object({ name: z.string().min(2).meta({ title: "Name" }) });
const Size = z.object({ size: z.int().min(1).max(8).meta({ title: "Size" }) });
const Yes = z.object({ yes: z.boolean().meta({ title: "Yes" }) });

/** A tool without arguments that returns text. */
const told = (run: (run: Run) => Promise<string>): Tool =>
  tool({ description: "tells", input: z.object({}), run: (_args, its) => run(its) });

type Say = (message: string) => Params | "decline" | "cancel";

/** Calls the tool in a session; `say` answers each question by its message. */
async function play(its: Tool, protocol: string, say?: Say, args: Params = {}) {
  const asked: string[] = [];
  const form: Answerer["form"] = async ({ message }): Promise<ElicitResult> => {
    asked.push(message);
    const answer = say?.(message) ?? "cancel";
    if (typeof answer === "string") return { action: answer };
    return { action: "accept", content: answer };
  };
  const answerer = say && { form };
  const session = await connect(inMemory({ its }), { protocol, answerer });
  const params = { name: "its", arguments: args };
  const result = await session.request("tools/call", params).finally(session.close);
  const [{ text = "" } = {}] = result["content"] as { text?: string }[];
  return { text, asked, isError: result["isError"] === true, result };
}

/** The tool on the wire of the modern era, where each round is made by hand. */
function wire(its: Tool) {
  const { here, input, output } = pipe();
  void start({ its }, input, output).then(() => output.end());
  let id = 0;
  return async (more: Params = {}, args: Params = {}) => {
    const params = { name: "its", arguments: args, _meta: meta({ elicitation: {} }) };
    here.send(request(++id, "tools/call", { ...params, ...more }));
    const reply = (await here.next()) as { result: Params; error: RpcError };
    const { inputRequests = {}, requestState, content } = reply.result ?? {};
    const [{ text = "" } = {}] = (content ?? []) as { text?: string }[];
    return { ...reply, inputRequests: inputRequests as Params, requestState, text };
  };
}
const accept = (content: Params) => ({ action: "accept", content });

/** Runs with what the server logs, which is where an author's mistake is told. */
async function logged(work: () => Promise<unknown>): Promise<string> {
  const { error } = console;
  const lines: unknown[] = [];
  console.error = (line) => lines.push(line);
  await work().finally(() => (console.error = error));
  return lines.join("\n");
}

// --- Questions and work ------------------------------------------------------------------

for (const protocol of ERAS) {
  test(`it asks three questions with work between them, done once (${protocol})`, async () => {
    const work: string[] = [];
    let runs = 0;
    const its = told(async ({ ask, once }) => {
      runs++;
      const { name } = await ask("name", "Who?", Name);
      const table = await once(
        "table",
        async () => (work.push("table"), `${name}'s table`),
      );
      const { size } = await ask("size", `How many at ${table}?`, Size);
      const price = await once(
        "price",
        async () => (work.push("price"), { each: size * 2 }),
      );
      const { yes } = await ask("yes", `${price.each}?`, Yes);
      return `${name} ${size} ${price.each} ${yes}`;
    });
    const say: Say = (m) =>
      m === "Who?" ? { name: "Ada" } : m === "6?" ? { yes: true } : { size: 3 };
    const { text, asked } = await play(its, protocol, say);
    assert.equal(text, "Ada 3 6 true");
    assert.deepEqual(asked, ["Who?", "How many at Ada's table?", "6?"]);
    assert.deepEqual(work, ["table", "price"]);
    assert.equal(runs, 4);
  });

  for (const action of ["decline", "cancel"] as const) {
    test(`it fails the call with the question at ${action} in the middle (${protocol})`, async () => {
      const its = told(async ({ ask }) => {
        await ask("name", "Who?", Name);
        await ask("size", "How many?", Size);
        return "not reached";
      });
      const say: Say = (message) => (message === "Who?" ? { name: "Ada" } : action);
      const { text, isError } = await play(its, protocol, say);
      const verb = action === "decline" ? "declined" : "cancelled";
      assert.equal(text, `The user ${verb}: "How many?"`);
      assert.equal(isError, true);
    });
  }

  test(`it lets a tool catch a refusal, and keeps it in later rounds (${protocol})`, async () => {
    const its = told(async ({ ask }) => {
      const name = await ask("name", "Who?", Name).catch((error) => {
        assert.ok(error instanceof Refused && error.action === "decline");
        return { name: "Nobody" };
      });
      const { size } = await ask("size", "How many?", Size);
      return `${name.name} ${size}`;
    });
    const say: Say = (message) => (message === "Who?" ? "decline" : { size: 2 });
    const { text, asked } = await play(its, protocol, say);
    assert.equal(text, "Nobody 2");
    assert.deepEqual(asked, ["Who?", "How many?"]);
  });

  test(`it asks again with the reason of a refinement (${protocol})`, async () => {
    const Even = z.object({ n: z.int().refine((n) => n % 2 === 0, "3 is not even") });
    const its = told(async ({ ask }) => String((await ask("n", "Which?", Even)).n));
    const { text, asked } = await play(its, protocol, (m) => ({
      n: m === "Which?" ? 3 : 4,
    }));
    assert.equal(text, "4");
    assert.deepEqual(asked, ["Which?", "3 is not even. Which?"]);
  });

  test(`it names the field of the reason where there are several (${protocol})`, async () => {
    const Both = Name.extend(Size.shape);
    const its = told(async ({ ask }) => JSON.stringify(await ask("both", "Well?", Both)));
    const good = { name: "Ada", size: 2 };
    const say: Say = (m) => (m === "Well?" ? { name: "Ada", size: 9 } : good);
    const { text, asked } = await play(its, protocol, say);
    assert.deepEqual(JSON.parse(text), good);
    assert.match(String(asked[1]), /^Size: must be 1 to 8\. Well\?$/);
  });

  test(`it gives a transformed answer transformed in every round (${protocol})`, async () => {
    const Day = z.object({ day: z.iso.date().transform((day) => new Date(day)) });
    const years: number[] = [];
    const its = told(async ({ ask }) => {
      const { day } = await ask("day", "When?", Day);
      years.push(day.getUTCFullYear());
      await ask("yes", "Sure?", Yes);
      return "done";
    });
    const say: Say = (m) => (m === "When?" ? { day: "2026-12-09" } : { yes: true });
    assert.equal((await play(its, protocol, say)).text, "done");
    assert.deepEqual(years, [2026, 2026]);
  });

  test(`it has one callId in all rounds of a call, and another in another (${protocol})`, async () => {
    const ids: string[] = [];
    const its = told(async ({ ask, callId }) => {
      ids.push(callId);
      await ask("name", "Who?", Name);
      return "done";
    });
    for (let call = 0; call < 2; call++)
      await play(its, protocol, () => ({ name: "Ada" }));
    assert.equal(ids.length, 4);
    assert.equal(ids[0], ids[1]);
    assert.equal(ids[2], ids[3]);
    assert.notEqual(ids[0], ids[2]);
  });

  test(`it asks nobody who can't be asked, and lets a tool know before (${protocol})`, async () => {
    let booked = 0;
    const its = told(async ({ ask, canAsk }) => {
      if (!canAsk()) throw new ToolError("This takes a client with forms.");
      booked++;
      return (await ask("name", "Who?", Name)).name;
    });
    const { text, isError } = await play(its, protocol);
    assert.deepEqual(
      [text, isError, booked],
      ["This takes a client with forms.", true, 0],
    );

    const asks = told(async ({ ask }) => (await ask("name", "Who?", Name)).name);
    if (protocol === MODERN) {
      const required = { requiredCapabilities: { elicitation: { form: {} } } };
      await assert.rejects(play(asks, protocol), { code: -32021, data: required });
    } else {
      const reply = await play(asks, protocol);
      assert.match(reply.text, /^its has to ask the user for name, .* can't be asked\.$/);
      assert.equal(reply.isError, true);
    }
  });

  test(`it keeps the answers of 100 calls at once apart (${protocol})`, async () => {
    const its = tool({
      description: "asks for what it is given",
      input: z.object({ n: z.int() }),
      async run({ n }, { ask, once }) {
        const { name } = await ask("name", `Who is ${n}?`, Name);
        const found = await once("found", async () => n * 2);
        const { size } = await ask("size", `How many are ${n}?`, Size);
        return `${n} ${name} ${found} ${size}`;
      },
    });
    const form: Answerer["form"] = async ({ message }) => {
      const n = Number(/\d+/.exec(message)?.[0]);
      const content = message.startsWith("Who")
        ? { name: `name ${n}` }
        : { size: (n % 8) + 1 };
      return { action: "accept", content };
    };
    const session = await connect(inMemory({ its }), { protocol, answerer: { form } });
    const calls = Array.from({ length: 100 }, async (_, n) => {
      const { content } = await session.request("tools/call", {
        name: "its",
        arguments: { n },
      });
      const [{ text }] = content as [{ text: string }];
      assert.equal(text, `${n} name ${n} ${n * 2} ${(n % 8) + 1}`);
    });
    await Promise.all(calls);
    await session.close();
  });

  test(`it asks together what is awaited together (${protocol})`, async () => {
    let runs = 0;
    const its = told(async ({ ask }) => {
      runs++;
      const [{ name }, { size }] = await Promise.all([
        ask("name", "Who?", Name),
        ask("size", "How many?", Size),
      ]);
      return `${name} ${size}`;
    });
    // The answer to one is kept when the other is asked again.
    const say: Say = (m) =>
      m === "Who?" ? { name: "Ada" } : { size: m === "How many?" ? 9 : 2 };
    const { text, asked } = await play(its, protocol, say);
    assert.equal(text, "Ada 2");
    assert.deepEqual(asked, ["Who?", "How many?", "That must be 1 to 8. How many?"]);
    assert.equal(runs, 3);
  });
}

// --- The traps of running again ----------------------------------------------------------

test("it takes an answer only for the question that was shown", async () => {
  let price = 10;
  const call = wire(
    told(async ({ ask }) => {
      const { yes } = await ask("yes", `Buy at ${price}?`, Yes);
      return `${yes} at ${price}`;
    }),
  );
  const { requestState } = await call();
  price = 20;
  const inputResponses = { yes: accept({ yes: true }) };
  const moved = await call({ inputResponses, requestState });
  assert.match(JSON.stringify(moved.inputRequests), /"Buy at 20\?"/);
  const { text } = await call({ inputResponses, requestState: moved.requestState });
  assert.equal(text, "true at 20");
});

test("it takes no answer that comes with the first call", async () => {
  const call = wire(told(async ({ ask }) => (await ask("name", "Who?", Name)).name));
  const inputResponses = { name: accept({ name: "Mallory" }) };
  const { inputRequests, requestState } = await call({ inputResponses });
  assert.ok("name" in inputRequests);
  assert.equal(typeof requestState, "string");
});

test("it takes a state for its own arguments only", async () => {
  const input = z.object({ n: z.int() });
  const run = async (_: object, { ask }: Run) => (await ask("name", "Who?", Name)).name;
  const call = wire(tool({ description: "asks", input, run }));
  const { requestState } = await call({}, { n: 1 });
  const retry = { inputResponses: { name: accept({ name: "Ada" }) }, requestState };
  assert.equal((await call(retry, { n: 2 })).error.code, -32602);
  assert.equal((await call(retry, { n: 1 })).text, "Ada");
});

test("its questions go out whatever the run then returns or throws", async () => {
  const swallowing: ((run: Run) => Promise<string>)[] = [
    async ({ ask }) => ask("name", "Who?", Name).then(String, () => "swallowed"),
    async ({ ask }) => {
      await ask("name", "Who?", Name).catch(() => {});
      throw new ToolError("thrown after it");
    },
    async ({ ask }) => (void ask("name", "Who?", Name), "not awaited at all"),
    async ({ ask, once }) => {
      const late = ask("name", "Who?", Name);
      await once(
        "work",
        () => new Promise<number>((resolve) => setImmediate(resolve, 1)),
      );
      return (await late).name;
    },
  ];
  for (const run of swallowing) {
    const { inputRequests } = await wire(told(run))();
    assert.deepEqual(Object.keys(inputRequests), ["name"]);
  }
});

test("it keeps what was found beside a question", async () => {
  let works = 0;
  const call = wire(
    told(async ({ ask, once }) => {
      const work = async () => {
        await new Promise((resolve) => setImmediate(resolve));
        return ++works;
      };
      const [n, { name }] = await Promise.all([
        once("work", work),
        ask("name", "Who?", Name),
      ]);
      return `${n} ${name}`;
    }),
  );
  const { requestState } = await call();
  const { text } = await call({
    inputResponses: { name: accept({ name: "Ada" }) },
    requestState,
  });
  assert.equal(text, "1 Ada");
});

test("it does work again that failed", async () => {
  let tries = 0;
  const call = wire(
    told(async ({ ask, once }) => {
      const work = async () => {
        if (++tries === 1) throw new Error("busy");
        return tries;
      };
      const found = await once("work", work).catch(() => 0);
      await ask("yes", "Sure?", Yes);
      return String(found);
    }),
  );
  const { requestState } = await call();
  const { text } = await call({
    inputResponses: { yes: accept({ yes: true }) },
    requestState,
  });
  assert.equal(text, "2");
});

test("it books once though its state is sent twice", async () => {
  const bookings = new Map<string, string>();
  const call = wire(
    told(async ({ ask, callId }) => {
      const { name } = await ask("name", "Who?", Name);
      if (!bookings.has(callId))
        bookings.set(callId, `table ${bookings.size + 1} for ${name}`);
      return String(bookings.get(callId));
    }),
  );
  const { requestState } = await call();
  const retry = { inputResponses: { name: accept({ name: "Ada" }) }, requestState };
  assert.equal((await call(retry)).text, "table 1 for Ada");
  assert.equal((await call(retry)).text, "table 1 for Ada");
  assert.equal(bookings.size, 1);
});

// --- Mistakes of the author --------------------------------------------------------------

const big = "x".repeat(70_000);
const MISTAKES: [string, (run: Run) => Promise<unknown>, RegExp][] = [
  [
    "a key that is asked twice",
    async ({ ask }) => {
      await Promise.allSettled([ask("a", "1?", Name), ask("a", "2?", Name)]);
    },
    /the key "a" is used twice in one run/,
  ],
  [
    "a key for a question and for work",
    async ({ ask, once }) => {
      await once("a", async () => 1);
      await ask("a", "1?", Name);
    },
    /the key "a" is used twice in one run/,
  ],
  [
    "a find that is a date",
    ({ once }) => once("when", async () => new Date() as never),
    /once\("when"\) found what JSON can't hold/,
  ],
  [
    "a find that is nothing",
    ({ once }) => once("when", async () => undefined as never),
    /once\("when"\) found what JSON can't hold/,
  ],
  [
    "a find that is no number",
    ({ once }) => once("when", async () => ({ n: NaN })),
    /once\("when"\) found what JSON can't hold/,
  ],
  [
    "a find that is a map",
    ({ once }) => once("when", async () => new Map() as never),
    /once\("when"\) found what JSON can't hold/,
  ],
  [
    "a nested form",
    ({ ask }) => ask("a", "1?", z.object({ inner: Name })),
    /the field inner/,
  ],
  [
    "a union that is no choice",
    ({ ask }) => ask("a", "1?", z.object({ u: z.union([z.string(), z.number()]) })),
    /the field u/,
  ],
  [
    "a state over 64 KiB",
    async ({ ask, once }) => {
      await once("big", async () => big);
      await ask("a", "1?", Name);
    },
    /a state of \d+ bytes, over 65536/,
  ],
];
for (const [what, run, reason] of MISTAKES) {
  test(`it tells the author of ${what}, and the client nothing`, async () => {
    const call = wire(told(async (its) => String(await run(its))));
    const log = await logged(async () => {
      const { error } = await call();
      assert.deepEqual(error, { code: -32603, message: "internal error" });
    });
    assert.match(log, reason);
  });
}

test("it holds a result against its schema", async () => {
  const its = (value: unknown) =>
    tool({
      description: "counts",
      input: z.object({}),
      output: z.object({ n: z.int() }),
      run: async () => value as { n: number },
    });
  const { result } = await wire(its({ n: 1, more: 2 }))();
  assert.deepEqual(result["structuredContent"], { n: 1 });
  assert.deepEqual(result["content"], [{ type: "text", text: '{"n":1}' }]);
  const log = await logged(async () => {
    assert.equal((await wire(its({ n: 1.5 }))()).error.code, -32603);
  });
  assert.match(log, /expected int/);
});

// --- Arguments and types -----------------------------------------------------------------

test("it takes null for an optional argument that is left out, and for no other", async () => {
  const input = z.object({ a: z.string().optional(), b: z.string().nullable() });
  const run = async (args: object) => JSON.stringify(args);
  const call = wire(tool({ description: "tells", input, run }));
  assert.equal((await call({}, { a: null, b: null })).text, '{"b":null}');
  const { result, text } = await call({}, { a: null });
  assert.equal(result["isError"], true);
  assert.match(text, /^Invalid arguments: b: expected string/);
});

test("its types are those of its schemas", () => {
  tool({
    description: "is typed",
    input: z.object({ n: z.int().default(1) }),
    output: z.object({ text: z.string() }),
    async run({ n }, { ask, once }) {
      const number: number = n;
      const { day } = await ask(
        "a",
        "1?",
        z.object({ day: z.iso.date().pipe(z.coerce.date()) }),
      );
      const date: Date = day;
      const found: { x: number } = await once("b", async () => ({ x: 1 }));
      // @ts-expect-error a date is no JSON
      void once("c", async () => new Date());
      // @ts-expect-error the form has no such field
      const { size } = await ask("d", "2?", Name);
      return { text: String([number, date, found, size]) };
    },
  });
  // @ts-expect-error without an output schema a run returns text
  tool({ description: "", input: z.object({}), run: async () => 7 });
  const output = z.object({ n: z.int() });
  // @ts-expect-error what it returns must satisfy the schema
  tool({ description: "", input: z.object({}), output, run: async () => ({ n: "7" }) });
});
