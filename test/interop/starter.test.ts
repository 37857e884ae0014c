/**
 * The server of docs/starter, on a copy of mcp/, with the clients of both generations of the
 * SDK. Every line that it writes is held against the schema of the revision spoken.
 */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  assertLegal,
  CLIENTS,
  here,
  tap,
  type Elicit,
  type Elicitation,
} from "./theirs.ts";

const folder = mkdtempSync(join(tmpdir(), "starter-"));
after(() => rmSync(folder, { recursive: true }));
for (const part of ["mcp", "package.json", "docs/starter/server.ts"]) {
  const copy = join(folder, part.replace("docs/starter/", ""));
  cpSync(here(`../../${part}`), copy, { recursive: true });
}
symlinkSync(here("../../node_modules"), join(folder, "node_modules"));

/** Orders a pizza; what the client was asked, and what it got. */
async function order(
  name: keyof typeof CLIENTS,
  elicitation: Elicitation | undefined,
  elicit: Elicit,
) {
  const asked: string[] = [];
  const { file, args } = tap(join(folder, "server.ts"));
  const client = await CLIENTS[name](args, elicitation, (params) => {
    asked.push(params["message"]);
    return elicit(params);
  });
  try {
    assert.deepEqual(
      (await client.tools()).map(({ name }) => name),
      ["order_pizza"],
    );
    const said = client.call("order_pizza").then(
      ({ content, isError = false }) => ({ text: String(content[0].text), isError }),
      (error) => ({ text: String(error), isError: true }),
    );
    return { asked, ...(await said) };
  } finally {
    await client.close();
    assertLegal(file, "server");
  }
}

const accept: Elicit = ({ message }) => ({
  action: "accept",
  content: /Which/.test(message) ? { size: "large", count: 2 } : { yes: true },
});

for (const name of Object.keys(CLIENTS) as (keyof typeof CLIENTS)[]) {
  test(`${name} orders after both questions`, async () => {
    for (const elicitation of [{}, { form: {} }]) {
      const { asked, text, isError } = await order(name, elicitation, accept);
      assert.deepEqual(asked, ["Which pizza?", "2 large for 24 €?"]);
      assert.match(text, /^2 large pizza ordered for 24 € \(order [\da-f-]{36}\)\.$/);
      assert.equal(isError, false);
    }
  });

  test(`${name} declines the second question, and nothing is ordered`, async () => {
    const decline: Elicit = (params) =>
      /Which/.test(params["message"]) ? accept(params) : { action: "decline" };
    const ended = await order(name, { form: {} }, decline);
    const text = 'The user declined: "2 large for 24 €?"';
    assert.deepEqual(ended.text, text);
    assert.equal(ended.isError, true);
  });

  test(`${name} can't be asked, and is told so`, async () => {
    const { asked, text, isError } = await order(name, undefined, accept);
    assert.deepEqual([asked, isError], [[], true]);
    assert.match(text, /order_pizza has to ask the user for order/);
  });
}
