import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { declaration, FILES, PICTURES, record, refresh, RECORDINGS } from "./record.ts";
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

test("a picture shows what the program really prints, as text", { skip }, async () => {
  for (const [file, draw] of Object.entries(PICTURES)) {
    const svg = readFileSync(file, "utf8");
    assert.equal(svg, await draw(), `${file} is stale: npx tsx test/record.ts`);
    assert.ok(svg.length < 40_000, file);
    assert.doesNotMatch(svg, /<script|<image|@import|url\(|href/);
    assert.ok(pages.some(({ text }) => text.includes(`](${file})`)));
  }
});

/** README and docs, whole. */
const pages = FILES.map((file) => ({ file, text: readFileSync(file, "utf8") }));

test("README fits on a few screens, and the tutorial into half an hour", () => {
  const most: Record<string, number> = { "README.md": 200, "docs/tutorial.md": 350 };
  for (const { file, text } of pages) {
    const lines = text.trimEnd().split("\n").length;
    assert.ok(lines <= (most[file] ?? Infinity), `${file} has ${lines} lines`);
  }
});

test("every relative link in README and docs leads somewhere", () => {
  for (const { file, text } of pages) {
    for (const [, target = ""] of text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
      if (/^https?:/.test(target)) continue;
      assert.ok(existsSync(join(dirname(file), target)), `${file}: ${target}`);
    }
  }
});

test("every option in README and docs exists, and the help has them all", async () => {
  const help = await record("help");
  const known = new Set(help.match(/--[a-z]+/g));
  // Of npm and Node, and of the programs that carry the pair over HTTP.
  const others = ["--import", "--no", "--tsconfig", "--save"].concat(
    ["--body", "--header", "--allow"], // mcp-remote
    ["--stdio", "--output", "--stateful", "--port", "--session"], // supergateway
  );
  for (const { file, text } of pages) {
    for (const [option] of text
      .replaceAll(/<!--|-->/g, "")
      .matchAll(/(?<![\w|-])--[a-z]+/g)) {
      assert.ok(known.has(option) || others.includes(option), `${file}: ${option}`);
    }
  }
});

test("every file that README and docs name exists", () => {
  for (const { file, text } of pages) {
    for (const [, name = ""] of text.matchAll(
      /(?<![\w./-])((?:mcp|test|docs)\/[\w./-]+\.(?:ts|mjs|md|svg))\b/g,
    )) {
      assert.ok(existsSync(name), `${file}: ${name}`);
    }
  }
});

test("every page begins with what you know at its end, and ends with the next one", () => {
  const readme = readFileSync("README.md", "utf8");
  const rows = [...readme.matchAll(/^\| (?:\[[^\]]+\]\(([^)]+)\)|`([^`]+)`).* \|$/gm)];
  const order = rows.map(([, link, name]) => String(link ?? name));
  for (const { file, text } of pages) {
    if (file === "README.md") continue;
    const at = order.indexOf(file);
    assert.ok(at >= 0, `README's order lacks ${file}`);
    assert.match(text, /^# .+\n\nAt the end you /, file);
    const [last = ""] = text.trimEnd().split("\n\n").slice(-1);
    const [, next] = /^Next: \[.+?\]\((.+?)\)/.exec(last) ?? [];
    if (order[at + 1] === undefined) assert.equal(next, undefined, file);
    else assert.equal(next && join(dirname(file), next), order[at + 1], file);
  }
});

test("every rule names a function and a test that exist", () => {
  const rules = readFileSync("docs/rules.md", "utf8").split(
    "## Not followed",
  )[0] as string;
  const rows = [
    ...rules.matchAll(/^\| .+ \| `([\w./]+)` `([#\w]+)`\s*\| `([\w.]+)` (.+?)\s*\|$/gm),
  ];
  assert.equal(
    rows.length,
    [...rules.matchAll(/^\| (?!rule|---)/gm)].length,
    "every row is read",
  );
  assert.ok(rows.length > 70);
  for (const [, file = "", name = "", suite = "", title = ""] of rows) {
    assert.doesNotThrow(() => declaration(file, name), `${file} ${name}`);
    const source = readFileSync(`test/${suite}`, "utf8");
    assert.match(
      source,
      new RegExp(`test\\(\\s*["\`]${title.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`),
      `${suite}: ${title}`,
    );
  }
});

test("every other code block is a command, a message, data or a drawing", () => {
  for (const { file, text } of pages) {
    const free = text.replaceAll(
      /<!-- (?:recorded|code): .+? -->\n+```\w*\n[^]*?\n```/g,
      "",
    );
    for (const [, language = "", content = ""] of free.matchAll(
      /^```(\w*)\n([^]*?)\n```$/gm,
    )) {
      assert.ok(
        ["sh", "json", "http", "text", "mermaid"].includes(language),
        `${file}: ${content}`,
      );
      if (language === "json") assert.doesNotThrow(() => JSON.parse(content), file);
      if (language !== "sh") continue;
      // A command of ours names a script that exists.
      for (const [, script] of content.matchAll(/npm (?:run )?(test|soak|interop)\b/g)) {
        const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
        assert.ok(script !== undefined && script in scripts, `${file}: ${script}`);
      }
    }
  }
});
