import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { RpcError } from "../mcp/peer.ts";
import { open, seal } from "../mcp/state.ts";
import { LOADER, ROOT } from "./support.ts";

const binding = {
  method: "tools/call",
  name: "t",
  arguments: { a: 1, b: { c: [2], d: 3 } },
};
const state = { ticker: "NVDA", reason: "née — 東京" };

function refuses(requestState: unknown, bound = binding, now?: number) {
  assert.throws(
    () => open(requestState, bound, now),
    new RpcError(
      -32602,
      "requestState was not issued for this request, or has expired: call again without it",
    ),
  );
}

test("it opens what it sealed", () => {
  assert.deepEqual(open(seal(state, binding), binding), state);
});

test("it opens it for the same arguments in another order", () => {
  const other = { ...binding, arguments: { b: { d: 3, c: [2] }, a: 1 } };
  assert.deepEqual(open(seal(state, binding), other), state);
});

test("it refuses a state with any character changed", () => {
  const sealed = seal(state, binding);
  for (let at = 0; at < sealed.length; at++) {
    for (const other of ["A", "B", "_", ".", "="]) {
      if (sealed[at] === other) continue;
      refuses(sealed.slice(0, at) + other + sealed.slice(at + 1));
    }
  }
});

test("it refuses the state of another method, tool or arguments", () => {
  const sealed = seal(state, binding);
  refuses(sealed, { ...binding, method: "prompts/get" });
  refuses(sealed, { ...binding, name: "u" });
  for (const args of [{}, { a: 1 }, { ...binding.arguments, a: 2 }, null]) {
    refuses(sealed, { ...binding, arguments: args as never });
  }
});

test("it refuses a state after 30 minutes, and not before", () => {
  const sealed = seal(state, binding, 1_000_000);
  assert.deepEqual(open(sealed, binding, 1_000_000 + 30 * 60 * 1000 - 1), state);
  refuses(sealed, binding, 1_000_000 + 30 * 60 * 1000);
});

test("it refuses the state of another process", () => {
  const program = `import("./mcp/state.ts").then(({ seal }) =>
    console.log(seal(${JSON.stringify(state)}, ${JSON.stringify(binding)})))`;
  const sealed = execFileSync(process.execPath, [...LOADER, "-e", program], {
    cwd: ROOT,
  });
  refuses(sealed.toString().trim());
});

test("it refuses what was never a state", () => {
  const sealed = seal(state, binding);
  for (const junk of [
    "",
    ".",
    "x",
    "e30.",
    `${sealed}.x`,
    `${sealed}=`,
    ` ${sealed}`,
    "A".repeat(1e6),
  ]) {
    refuses(junk);
  }
  for (const junk of [null, 7, {}, [], [sealed, 1], true]) refuses(junk);
});
