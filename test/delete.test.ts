/**
 * Whoever needs no older peers deletes mcp/legacy.ts, its import and the one place that uses
 * it at either door. This does so on a copy, and looks at what is left.
 */
import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { build } from "./built.ts";
import { startStooq } from "./stooq.ts";
import { ROOT, run } from "./support.ts";

const CUTS: [string, RegExp, string][] = [
  ["serve.ts", /^import .* from "\.\/legacy\.ts";\n/m, ""],
  ["serve.ts", /serveLegacy\((serveModern\(tools, self\)), peer\)/, "$1"],
  ["connect.ts", /^import .* from "\.\/legacy\.ts";\n/m, ""],
  ["connect.ts", /^ *if \([^;]*?\breturn await openLegacy\([^;]*;\n/m, ""],
];

const folder = await mkdtemp(join(tmpdir(), "modern-"));
after(() => rm(folder, { recursive: true, force: true }));
for (const name of ["server.ts", "client.ts", "price.ts", "mcp", "package.json"]) {
  await cp(join(ROOT, name), join(folder, name), { recursive: true });
}
await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"), "dir");
const tsconfig = JSON.parse(await readFile(join(ROOT, "tsconfig.json"), "utf8"));
const include = ["*.ts", "mcp"];
await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ ...tsconfig, include }));

await rm(join(folder, "mcp/legacy.ts"));
for (const [name, what, by] of CUTS) {
  const file = join(folder, "mcp", name);
  const text = await readFile(file, "utf8");
  assert.match(text, what, name);
  await writeFile(file, text.replace(what, by));
}
const built = build(folder, ["client.ts", "server.ts"]);

const client = (...args: string[]) =>
  run("client.mjs", ["--server", "server.mjs", ...args], built);

test("it compiles without the legacy era, and leaves nothing unused", async () => {
  assert.equal(tsconfig.compilerOptions.noUnusedLocals, true);
  const place = { cwd: folder, loader: [] };
  const compiled = await run("node_modules/typescript/bin/tsc", [], place);
  assert.deepEqual(compiled, { code: 0, stdout: "", stderr: "" });
});

test("it asks and answers in the modern era alone", async () => {
  const stooq = await startStooq();
  const env = ["--env", `STOOQ_URL=${stooq.url}`];
  const quote = { code: 0, stdout: "NVDA 188.5\n", stderr: "" };
  try {
    assert.deepEqual(await client("--answer", "ticker=NVDA", ...env), quote);
  } finally {
    await stooq.close();
  }
});

test("it says that it does not speak an older version", async () => {
  const { code, stdout, stderr } = await client("--protocol", "2025-11-25");
  assert.equal(code, 3);
  assert.equal(stdout, "");
  assert.match(
    stderr,
    /^No version in common: 2025-11-25 begins with a handshake; .+\.\n$/,
  );
});

test("it stops the server where a module of the client is missing", async () => {
  await rm(join(folder, "mcp/connect.ts"));
  const ended = await run("client.ts", ["--server", "server.ts"], { cwd: folder });
  assert.equal(ended.code, 3);
  assert.equal(ended.stdout, "");
  assert.match(ended.stderr, /^Cannot find module .*connect\.ts.*\n$/);
});
