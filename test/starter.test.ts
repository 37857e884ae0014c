/** The two programs of docs/starter, as somebody starts with them: on a copy of mcp/. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { BUILT, build } from "./built.ts";
import { LOADER, ROOT, run, type Ended } from "./support.ts";

const folder = mkdtempSync(join(tmpdir(), "starter-"));
after(() => rmSync(folder, { recursive: true }));
for (const part of ["mcp", "package.json", "tsconfig.json"]) {
  cpSync(join(ROOT, part), join(folder, part), { recursive: true });
}
cpSync(join(ROOT, "docs/starter"), folder, { recursive: true });
symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));

const ORDERED = /^2 large pizza ordered for 24 € \(order [\da-f-]{36}\)\.\n$/;
const ORDER = ["size=large", "count=2", "yes=yes"].flatMap((answer) => [
  "--answer",
  answer,
]);

/** Our client on the copied server. */
const server = join(build(folder, ["server.ts"]).cwd, "server.mjs");
const order = (...args: string[]): Promise<Ended> =>
  run("client.mjs", ["--server", server, ...args], BUILT);

test("they compile on the copy", () => {
  const tsc = join(folder, "node_modules/.bin/tsc");
  const { status, stdout } = spawnSync(tsc, { cwd: folder, encoding: "utf8" });
  assert.deepEqual([stdout, status], ["", 0]);
});

test("the client answers its server, and prints the result", async () => {
  const child = spawn(process.execPath, [...LOADER, "client.ts"], { cwd: folder });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (printed += text));
  }
  const code = await new Promise((resolve) => child.on("close", resolve));
  assert.match(printed, ORDERED);
  assert.equal(code, 0);
});

for (const protocol of ["auto", "2025-11-25"]) {
  const era = ["--protocol", protocol];

  test(`the server asks our client both questions (${protocol})`, async () => {
    const { code, stdout, stderr } = await order(...era, ...ORDER);
    assert.match(stdout, ORDERED);
    assert.deepEqual([stderr, code], ["", 0]);
  });

  test(`the server takes a no for the order, and a default (${protocol})`, async () => {
    const answers = ["--answer", "size=small", "--answer", "yes=no"];
    const ended = await order(...era, ...answers);
    assert.deepEqual(ended, { code: 0, stdout: "Nothing was ordered.\n", stderr: "" });
  });

  test(`the server fails the call of who can't be asked (${protocol})`, async () => {
    const { code, stdout, stderr } = await order(...era);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /order_pizza has to ask the user for order/);
  });
}
