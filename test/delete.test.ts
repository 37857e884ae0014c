/**
 * Whoever needs no older peers deletes mcp/legacy.ts, its import and the one expression that
 * uses it at either door. This does so on a copy, and looks at what is left.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { startStooq } from "./stooq.ts";
import { LOADER, ROOT } from "./support.ts";

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

/** Runs this Node in the copy, to its end. */
async function run(...args: string[]) {
  const { PATH, HOME } = process.env;
  const options = { cwd: folder, env: { PATH, HOME } };
  const ended = await promisify(execFile)(process.execPath, args, options)
    .then((out) => ({ code: 0, ...out }))
    .catch((error) => error);
  return { code: ended.code, stdout: ended.stdout, stderr: ended.stderr };
}
const client = (...args: string[]) =>
  run(...LOADER, "client.ts", "--server", "server.ts", ...args);

test("it compiles without the legacy era, and leaves nothing unused", async () => {
  assert.equal(tsconfig.compilerOptions.noUnusedLocals, true);
  const compiled = await run("node_modules/typescript/bin/tsc");
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
  assert.match(stderr, /^The server does not speak 2025-11-25: .+\.\n$/);
});
