/**
 * The smallest pairs of docs/smallest with both generations of the SDK and with each other.
 * Every line that one of them writes is held against the schema of the revision spoken.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import {
  assertLegal,
  CLIENTS,
  here,
  tap,
  tsx,
  type Elicit,
  type Elicitation,
  type Theirs,
} from "./theirs.ts";

const of = (name: string) => here(`../../docs/smallest/${name}.ts`);

// --- Our servers, their clients ----------------------------------------------------------

const SPOKEN: [keyof typeof CLIENTS, string][] = [
  ["SDK v1", "legacy-server"],
  ["SDK v2, legacy", "legacy-server"],
  ["SDK v2, auto", "legacy-server"],
  ["SDK v2, auto", "modern-server"],
  ["SDK v2, 2026-07-28", "modern-server"],
  ["SDK v1", "both-server"],
  ["SDK v2, legacy", "both-server"],
  ["SDK v2, auto", "both-server"],
  ["SDK v2, 2026-07-28", "both-server"],
];

for (const [name, server] of SPOKEN) {
  const using = async (
    elicitation: Elicitation | undefined,
    elicit: Elicit,
    use: (client: Theirs) => Promise<void>,
  ) => {
    const { file, args } = tap(of(server));
    const client = await CLIENTS[name](args, elicitation, elicit);
    try {
      await use(client);
    } finally {
      await client.close();
    }
    assertLegal(file, "server");
  };
  const accept: Elicit = () => ({ action: "accept", content: { name: "Ada" } });

  test(`${name} is asked by ${server}`, async () => {
    await using({ form: {} }, accept, async (client) => {
      const names = (await client.tools()).map(({ name }) => name);
      assert.deepEqual(names, ["greet"]);
      const results = [await client.call("greet"), await client.call("greet")];
      for (const { content } of results) {
        assert.deepEqual(content, [{ type: "text", text: "Hello, Ada!" }]);
      }
      await assert.rejects(client.call("dance"), { code: -32602 });
    });
    for (const action of ["decline", "cancel"]) {
      const refuse = () => ({ action });
      await using({}, refuse, async (client) => {
        const { content, isError } = await client.call("greet");
        assert.equal(isError, true);
        assert.equal(content[0].text, "Nobody told me a name.");
      });
    }
  });

  test(`${name} fails to answer ${server}, and goes on`, async () => {
    const fail = () => {
      throw new Error("no idea");
    };
    await using({ form: {} }, fail, async (client) => {
      // Where the client runs the loop it fails by itself; where we run it, the call does.
      const failed = client.call("greet").then(
        ({ isError }) => isError,
        () => true,
      );
      assert.equal(await failed, true);
      assert.equal((await client.tools()).length, 1);
    });
  });

  test(`${name} is not asked by ${server} for what it did not declare`, async () => {
    for (const elicitation of [undefined, { url: {} }] as (Elicitation | undefined)[]) {
      let asked = 0;
      const count: Elicit = (params) => (asked++, accept(params));
      await using(elicitation, count, async (client) => {
        const said = await client.call("greet").then(JSON.stringify, String);
        assert.match(said, /This client takes no forms\./);
      });
      assert.equal(asked, 0);
    }
  });
}

// --- Our clients, their servers, and our own ---------------------------------------------

/** Runs one of our clients on a server behind the tap. */
async function play(client: string, server: string, rest: string[], input: string) {
  const { file, args } = tap(server);
  // A client starts a script, so the tap and what it starts become one.
  const script = `${file}.mjs`;
  const argv = `process.argv.splice(2, Infinity, ...${JSON.stringify(args.slice(1))});`;
  const module = JSON.stringify(new URL("tap.mjs", import.meta.url).href);
  writeFileSync(script, `${argv}\nawait import(${module});\n`);
  const child = spawn(process.execPath, [...tsx, of(client), script, ...rest]);
  const out = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text) => (out.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (out.stderr += text));
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  // The tap holds stderr until it has ended, and so has written all that passed.
  const code = await new Promise((resolve) => child.on("close", resolve));
  return { file, code, ...out };
}

const THEIRS = [
  ["legacy-client", "SDK v1", "servers/v1.ts"],
  ["legacy-client", "SDK v2", "servers/v2.ts"],
  ["modern-client", "SDK v2", "servers/v2.ts"],
] as const;

const both = {
  first: { action: "accept", content: { text: "Grace" } },
  second: { action: "accept", content: { integer: 4 } },
};
const CALLS: [string[], string, unknown][] = [
  [[], "", {}], // The first tool asks nothing.
  [["twice"], "Grace\ny\n4\ny\n", both],
  [["together"], "Grace\ny\n4\ny\n", both],
  [
    ["twice"],
    "Grace\nn\n4\n",
    { first: { action: "decline" }, second: { action: "cancel" } },
  ],
];

for (const [client, name, server] of THEIRS) {
  test(`${client} is asked by ${name}`, async () => {
    for (const [rest, input, answers] of CALLS) {
      const { file, code, stdout, stderr } = await play(
        client,
        here(server),
        rest,
        input,
      );
      assert.equal(code, 0, stderr);
      assert.deepEqual(JSON.parse(stdout), answers);
      assertLegal(file, "client");
    }
  });
}

const PAIRS = [
  ["legacy-client", "legacy-server"],
  ["modern-client", "modern-server"],
  ["legacy-client", "both-server"],
  ["modern-client", "both-server"],
  // These two don't understand each other, but say so by legal lines.
  ["legacy-client", "modern-server"],
  ["modern-client", "legacy-server"],
] as const;

for (const [client, server] of PAIRS) {
  test(`${client} and ${server} write legal lines`, async () => {
    const runs = [
      [[], "Ada\ny\n"],
      [[], "Ada\nn\n"],
      [[], ""],
      [["dance"], ""],
    ] as const;
    for (const [rest, input] of runs) {
      const { file } = await play(client, of(server), [...rest], input);
      assertLegal(file, "client", "server");
    }
  });
}
