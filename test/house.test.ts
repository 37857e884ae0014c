/**
 * The house: how its files are formatted, how long they and their functions may be, which way
 * imports run, where eras show.
 */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { after, test } from "node:test";
import {
  isFunctionLikeDeclaration,
  type Node,
  type SourceFile,
} from "typescript/unstable/ast";
import { API } from "typescript/unstable/sync";
import { ROOT, run } from "./support.ts";

/** Lines of each file, comments included. A file of mcp/ imports only from those above it. */
const BUDGETS = {
  "mcp/peer.ts": 350,
  "mcp/schema.ts": 185,
  "mcp/state.ts": 75,
  "mcp/form.ts": 305,
  "mcp/text.ts": 90,
  "mcp/process.ts": 150,
  "mcp/field.ts": 140,
  "mcp/person.ts": 325,
  "mcp/screen.ts": 90,
  "mcp/rounds.ts": 90,
  "mcp/tool.ts": 200,
  "mcp/answer.ts": 110,
  "mcp/clock.ts": 50,
  "mcp/link.ts": 130,
  "mcp/modern.ts": 215,
  "mcp/legacy.ts": 240,
  "mcp/serve.ts": 70,
  "mcp/connect.ts": 120,
  "price.ts": 245,
  "server.ts": 110,
  "client.ts": 400,
};
const LESSON = [
  "mcp/rounds.ts",
  "mcp/modern.ts",
  "mcp/legacy.ts",
  "mcp/tool.ts",
  "server.ts",
];
const LESSON_LINES = 830;
const ALL_LINES = 3500;
const FUNCTION_LINES = 60;

/** From outside, beside Node and zod. */
const PACKAGES: Record<string, string[]> = {
  "mcp/text.ts": ["picocolors"],
  "price.ts": ["csv-parse/sync", "csv-parse"],
};
/** Where the eras have a name. Schema has the lists of their versions. */
const ERAS = ["mcp/legacy.ts", "mcp/modern.ts", "mcp/serve.ts", "mcp/connect.ts"];
const VERSIONS = ["LEGACY_VERSIONS", "MODERN_VERSIONS"];

// --- Reading -----------------------------------------------------------------------------

const api = new API({ cwd: ROOT });
after(() => api.close());
const [project] = api
  .updateSnapshot({ openProjects: [`${ROOT}tsconfig.json`] })
  .getProjects();

const files = [
  ...readdirSync(`${ROOT}mcp`).map((name) => `mcp/${name}`),
  ...readdirSync(ROOT),
]
  .filter((name) => name.endsWith(".ts"))
  .map((name): [string, SourceFile] => {
    const source = project?.program.getSourceFile(ROOT + name);
    assert.ok(source, `${name} is part of the program`);
    return [name, source];
  });

const linesOf = (name: string) => {
  const source = files.find(([its]) => its === name)?.[1];
  return (source?.text.split("\n").length ?? 1) - 1;
};

/** Every node of a file: no comments are among them. */
function* nodesOf(source: SourceFile): Generator<Node> {
  const nodes: Node[] = [source];
  for (let node; (node = nodes.pop()); yield node) {
    node.forEachChild((child) => void nodes.push(child));
  }
}

/** What a file imports, types included. */
const importsOf = (source: SourceFile) =>
  source.imports.map((specifier) => (specifier as unknown as { text: string }).text);

// --- Format and lengths ------------------------------------------------------------------

test("every file is formatted", async () => {
  // Only what has changed is looked at again: it takes seconds.
  const prettier = "node_modules/prettier/bin/prettier.cjs";
  const { code, stderr } = await run(prettier, ["--check", "--cache", "."], {
    loader: [],
  });
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
});

test("every file keeps to its lines, and all of them to theirs", () => {
  const over: string[] = [];
  const check = (what: string, lines: number, most: number) => {
    if (lines > most) over.push(`${what}: ${lines} lines of ${most}`);
  };
  assert.deepEqual(files.map(([name]) => name).sort(), Object.keys(BUDGETS).sort());
  for (const [name, most] of Object.entries(BUDGETS)) check(name, linesOf(name), most);
  const sum = (names: string[]) =>
    names.reduce((lines, name) => lines + linesOf(name), 0);
  check("the lesson", sum(LESSON), LESSON_LINES);
  check("everything", sum(Object.keys(BUDGETS)), ALL_LINES);
  assert.deepEqual(over, []);
});

test("no function is over 60 lines", () => {
  const over: string[] = [];
  let count = 0;
  for (const [name, source] of files) {
    for (const node of nodesOf(source)) {
      if (!isFunctionLikeDeclaration(node)) continue;
      count++;
      const [first, last] = [node.getStart(source), node.end].map(
        (at) => source.getLineAndCharacterOfPosition(at).line,
      ) as [number, number];
      const lines = last - first + 1;
      if (lines > FUNCTION_LINES) over.push(`${name}:${first + 1}: ${lines} lines`);
    }
  }
  assert.ok(count > 300, `${count} functions are found`);
  assert.deepEqual(over, []);
});

// --- Imports and words -------------------------------------------------------------------

test("imports run one way, and bring nothing in but zod and a package or two", () => {
  const order = Object.keys(BUDGETS);
  const all = files.flatMap(([, source]) => importsOf(source));
  // Those that wait until they are needed are among them.
  for (const one of ["zod", "picocolors", "./legacy.ts", "./mcp/connect.ts"]) {
    assert.ok(all.includes(one), one);
  }
  for (const [name, source] of files) {
    for (const specifier of importsOf(source)) {
      const what = `${name} imports ${specifier}`;
      if (!specifier.startsWith(".")) {
        const allowed = ["zod", "zod/compile", ...(PACKAGES[name] ?? [])];
        assert.ok(specifier.startsWith("node:") || allowed.includes(specifier), what);
        continue;
      }
      const { href } = new URL(specifier, `file:///${name}`);
      const other = href.slice("file:///".length);
      assert.ok(order.includes(other), what);
      // What is above mcp/ is below all of it here.
      assert.ok(order.indexOf(other) < order.indexOf(name), what);
    }
  }
});

test("an era has a name in its own file and at the two doors, and nowhere else", () => {
  const words: string[] = [];
  const named = new Set<string>();
  for (const [name, source] of files) {
    if (!name.startsWith("mcp/")) continue;
    for (const node of nodesOf(source)) {
      let isLeaf = true;
      node.forEachChild(() => void (isLeaf = false));
      const text = isLeaf ? node.getText(source) : "";
      if (!/legacy|modern/i.test(text)) continue;
      named.add(name);
      const isList = name === "mcp/schema.ts" && VERSIONS.includes(text);
      if (!ERAS.includes(name) && !isList) words.push(`${name}: ${text}`);
    }
  }
  assert.deepEqual([...named].sort(), [...ERAS, "mcp/schema.ts"].sort());
  assert.deepEqual(words, []);
});
