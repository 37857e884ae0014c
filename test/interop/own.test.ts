/** Every message that our own tests see one of our ends write is legal. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { illegal, type Tapped } from "./legal.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

const SUITES = "connect link modern legacy server".split(" ");

/** What a test itself asks for: a request without params, one of no revision, an old page. */
const ASKED_FOR =
  /required property '(name|uri|requestedSchema)'|^x\/y is not in|^no ElicitResult of 2025-06-18/;

/** A client's end is what sends such requests. */
const isClients = (line: string) =>
  /"method":"(initialize|server\/discover|tools\/\w+)"/.test(line);

for (const suite of SUITES) {
  test(`it is legal what our ends write in ${suite}.test.ts`, async () => {
    const file = join(mkdtempSync(join(tmpdir(), "own-")), "wire.jsonl");
    const args = ["--import", import.meta.resolve("tsx"), `test/${suite}.test.ts`];
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    await promisify(execFile)(process.execPath, args, {
      cwd: root,
      env: { ...env, WIRE_LOG: file },
      maxBuffer: 1e8,
    });
    const wires = new Map<string, { whose: string; line: string }[]>();
    for (const row of readFileSync(file, "utf8").trimEnd().split("\n")) {
      const [pid, wire, whose, line] = JSON.parse(row);
      const lines = wires.get(`${pid} ${wire}`) ?? [];
      wires.set(`${pid} ${wire}`, [...lines, { whose, line }]);
    }
    assert.ok(wires.size > 10, `${wires.size} connections`);
    const faults = [...wires.values()].flatMap((rows) => {
      const isClient = rows.some(
        ({ whose, line }) => whose === "ours" && isClients(line),
      );
      const [ours, theirs] = isClient
        ? (["client", "server"] as const)
        : (["server", "client"] as const);
      const lines = rows.map(({ whose, line }): Tapped => {
        return { from: whose === "ours" ? ours : theirs, line };
      });
      return illegal(lines, ours);
    });
    assert.deepEqual(
      faults.filter((fault) => !ASKED_FOR.test(fault)),
      [],
    );
  });
}

test("it finds fault with what is not legal", () => {
  const request = (method: string, params: object, id: unknown = 1) =>
    JSON.stringify({ jsonrpc: "2.0", id, method, params });
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const call = request("tools/call", { name: "t", _meta: meta });
  const answer = (result: object) => JSON.stringify({ jsonrpc: "2.0", id: 1, result });
  const judge = (line: string) =>
    illegal(
      [
        { from: "client", line: call },
        { from: "server", line },
      ],
      "server",
    );
  assert.deepEqual(judge(answer({ resultType: "complete", content: [] })), []);
  assert.equal(judge(answer({ content: [] })).length, 1);
  assert.equal(judge(answer({ resultType: "complete" })).length, 1);
  assert.equal(
    judge(answer({ resultType: "input_required", inputRequests: 7 })).length,
    1,
  );
  assert.equal(judge("{").length, 1);
  assert.equal(judge(request("ping", {})).length, 1);
  assert.equal(judge(JSON.stringify({ jsonrpc: "2.0", id: 2, result: {} })).length, 1);
});

test("the README names every scenario of the suite's requirement sets", () => {
  const readme = readFileSync(new URL("README.md", import.meta.url), "utf8");
  const suite = createRequire(import.meta.url)
    .resolve("@modelcontextprotocol/conformance/package.json")
    .replace(/package\.json$/, "requirements/");
  for (const revision of ["2025-11-25", "2026-07-28"]) {
    const [, section = ""] = readme.split(`### ${revision}\n`);
    const requirements = readFileSync(`${suite}${revision}.yaml`, "utf8");
    const names = [...requirements.matchAll(/^\s*- (?:scenario: )?([a-z0-9_/-]+)$/gm)];
    assert.ok(names.length > 40);
    for (const [, name] of names) assert.match(section, new RegExp(`\`${name}\``));
  }
});
