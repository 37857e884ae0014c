import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { FILES, record, refresh, RECORDINGS } from "./record.ts";
import { hasTerminal } from "./terminal.ts";

const skip = hasTerminal ? false : "needs a Linux with script(1)";

test("README and docs show what the programs really print", { skip }, async () => {
  const used = new Set<string>();
  for (const file of FILES) {
    const text = readFileSync(file, "utf8");
    const fresh = await refresh(text, (name) => (used.add(name), record(name)));
    assert.equal(text, fresh, `${file} is stale: npx tsx test/record.ts`);
  }
  assert.deepEqual([...used].sort(), Object.keys(RECORDINGS).sort());
});
