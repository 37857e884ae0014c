/**
 * Keeps README and docs true. A code block below `<!-- recorded: name -->` is what the run of
 * that name really printed; one below `<!-- code: file, name -->` is that declaration as it
 * stands in the file, and without a name the whole file. The pictures are drawn from runs in a
 * terminal. To make all of them anew:
 *
 *     npx tsx test/record.ts
 */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Answerer } from "../mcp/answer.ts";
import { connect } from "../mcp/connect.ts";
import type { Params } from "../mcp/peer.ts";
import { startProcess } from "../mcp/process.ts";
import { isMain } from "../mcp/serve.ts";
import { BUILT } from "./built.ts";
import { drawTerminal } from "./picture.ts";
import { startStooq } from "./stooq.ts";
import { LEGACY, meta, MODERN, request, ROOT, run, Wire } from "./support.ts";
import { openTerminal } from "./terminal.ts";

/** Stooq as it is since June 2026. */
const startClosedStooq = () =>
  startStooq((_request, response) => response.writeHead(404).end());

/** What runs is built, for speed. What is shown has the names of the sources. */
const built = (text: string) => text.replaceAll(".ts", ".mjs");
const asSource = (text: string) => text.replaceAll(".mjs", ".ts");
const SERVER = join(BUILT.cwd, "server.mjs");

// --- The screen --------------------------------------------------------------------------

const COLORS = { NO_COLOR: "", TERM: "xterm-256color" };

/** Runs the client in a terminal in colours, and types a line at each prompt. */
async function type(args: string, lines: string[]) {
  const stooq = await startClosedStooq();
  const terminal = openTerminal(
    ["client.mjs", ...built(args).split(" "), "--env", `STOOQ_URL=${stooq.url}`],
    { ...BUILT, columns: 80, env: COLORS },
  );
  for (const line of lines) {
    await terminal.see(/\n> /);
    terminal.type(`${line}\r`);
  }
  await terminal.ended;
  await stooq.close();
  return {
    command: `$ npx tsx client.ts ${args}\n`,
    screen: asSource(terminal.screen()),
    raw: asSource(terminal.raw()),
  };
}

/** The same as text. */
async function typed(args: string, lines: string[]): Promise<string> {
  const { command, screen } = await type(args, lines);
  return `${command}${screen.replace(/ +$/gm, "").replace(/\n+$/, "")}`;
}

// --- The wire ----------------------------------------------------------------------------

type Talk = { from: "client" | "server"; message: Params }[];
const talks = new Map<string, Promise<Talk>>();

/** A call without a ticker, its questions answered or declined, as it went over the wire. */
function talk(protocol: string, action: "accept" | "decline"): Promise<Talk> {
  const key = `${protocol} ${action}`;
  const talk = talks.get(key) ?? record();
  talks.set(key, talk);
  return talk;

  async function record(): Promise<Talk> {
    const stooq = await startClosedStooq();
    const talk: Talk = [];
    const form: Answerer["form"] = async ({ fields }) => {
      if (action === "decline") return { action };
      const content =
        fields[0]?.name === "ticker" ? { ticker: "nvda" } : { useSample: true };
      return { action, content };
    };
    const env = { STOOQ_URL: stooq.url };
    const session = await connect(() => startProcess("node", [SERVER], env), {
      self: { name: "stock-price-client", title: "Stock price", version: "1.0.0" },
      protocol,
      answerer: { form },
      onLine: (direction, line) =>
        talk.push({
          from: direction === "sent" ? "client" : "server",
          message: JSON.parse(line),
        }),
    });
    await session.request("tools/call", { name: "get_stock_price", arguments: {} });
    await session.close();
    await stooq.close();
    return talk;
  }
}

/**
 * Some messages of a talk. Seals, which no two runs share, are shortened to a sign, and so is an
 * envelope that has been shown before.
 */
async function wire(
  protocol: string,
  action: "accept" | "decline",
  from: number,
  to: number,
) {
  const messages = (await talk(protocol, action)).slice(from, to);
  const short = (key: string, value: unknown) => {
    if (key !== "_meta" || from === 0 || protocol !== MODERN) return value;
    const { progressToken } = value as Params;
    return { "…": 0, progressToken };
  };
  return messages
    .map(({ from, message }) => {
      const shown = JSON.parse(JSON.stringify(message, short));
      return `${from === "client" ? "→" : "←"} ${pretty(shown)}`;
    })
    .join("\n")
    .replaceAll('"_meta": { "…": 0', '"_meta": { …')
    .replace(/"requestState": "[^"]{13,}"/g, '"requestState": "…"');
}

/** JSON that breaks its lines only where they would be too long. */
function pretty(value: unknown, indent = "  "): string {
  const flat = JSON.stringify(value, null, 1).replace(/\n\s*/g, " ");
  if (flat.length + indent.length <= 80 || typeof value !== "object" || value === null)
    return flat;
  const isList = Array.isArray(value);
  const items = Object.entries(value).map(([key, item]) => {
    const name = isList ? "" : `${JSON.stringify(key)}: `;
    return `${indent}  ${name}${pretty(item, `${indent}  `)}`;
  });
  const [open, close] = isList ? "[]" : "{}";
  return `${open}\n${items.join(",\n")}\n${indent}${close}`;
}

// --- The exercises -----------------------------------------------------------------------

/** Answers the second question with a state that is not quite the one that came. */
async function forge(change: (params: Params) => Params): Promise<string> {
  const stooq = await startClosedStooq();
  const env = { PATH: process.env["PATH"] ?? "", STOOQ_URL: stooq.url };
  const server = spawn(process.execPath, [SERVER], { env });
  const wire = new Wire(server.stdout, server.stdin);
  const params = {
    name: "get_stock_price",
    arguments: { ticker: "NVDA" },
    _meta: meta({ elicitation: {} }),
  };
  wire.send(request(1, "tools/call", params));
  const { requestState } = (await wire.next())["result"] as Params;
  const inputResponses = {
    useSample: { action: "accept", content: { useSample: true } },
  };
  wire.send(
    request(2, "tools/call", change({ ...params, inputResponses, requestState })),
  );
  const shown = `← ${pretty(await wire.next())}`;
  server.stdin.end();
  await stooq.close();
  return shown;
}

/** What a program prints that gets these lines, below the command. */
async function piped(
  command: string,
  lines: string[],
  script: string,
  args: string[] = [],
) {
  const input = lines.map((line) => `${line}\n`).join("");
  const { stdout, stderr } = await run(built(script), args.map(built), {
    ...BUILT,
    input,
  });
  return `$ ${command}\n${asSource(stderr + stdout)}`.trimEnd();
}

/** Our client with a smallest server, and what passes between them. */
function smallest(server: string, protocol: string) {
  const args = `--server docs/smallest/${server} --protocol ${protocol} --tool greet`;
  const all = `${args} --answer name=Ada -v`;
  return piped(`npx tsx client.ts ${all}`, [], "client.ts", all.split(" "));
}

const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

// --- All of them -------------------------------------------------------------------------

export const RECORDINGS: Record<string, () => Promise<string>> = {
  form: () =>
    typed("--server test/forms.ts --tool booking", ["Grace", "3", "", "3", "y", ""]),
  refused: () => typed("--server test/forms.ts --tool integer", ["9", "four", "4"]),
  help: async () =>
    (await run("client.mjs", ["--help"], BUILT)).stdout
      .split("\n")
      .slice(2)
      .join("\n")
      .trimEnd(),
  "modern discover": () => wire(MODERN, "accept", 0, 2),
  "modern ask": () => wire(MODERN, "accept", 2, 4),
  "modern answer": () => wire(MODERN, "accept", 4, 6),
  "modern consent": () => wire(MODERN, "accept", 6, 8),
  "modern decline": () => wire(MODERN, "decline", 4, 6),
  "legacy handshake": () => wire(LEGACY, "accept", 0, 3),
  "legacy ask": () => wire(LEGACY, "accept", 3, 5),
  "legacy answer": () => wire(LEGACY, "accept", 5, 7),
  "legacy consent": () => wire(LEGACY, "accept", 7, 9),
  "legacy decline": () => wire(LEGACY, "decline", 5, 7),
  "flip a byte": () =>
    forge((params) => ({ ...params, requestState: flip(params["requestState"]) })),
  "other arguments": () =>
    forge((params) => ({ ...params, arguments: { ticker: "AAPL" } })),
  "tutorial line": () => {
    const server = "docs/smallest/legacy-server.ts";
    return piped(`echo '${PING}' | npx tsx ${server}`, [PING], server);
  },
  "tutorial legacy": () => smallest("legacy-server.ts", LEGACY),
  "tutorial modern": () => smallest("modern-server.ts", MODERN),
};

/** The pictures, by file. */
export const PICTURES: Record<string, () => Promise<string>> = {
  "docs/session.svg": async () => {
    const { command, raw } = await type("--server server.ts", ["nvda", ""]);
    return drawTerminal("a call that asks twice", `${command}${raw}`);
  },
};

const flip = (state: unknown) =>
  String(state).replace(/^./, (first) => (first === "A" ? "B" : "A"));

/** Where they stand. */
export const FILES = [
  "README.md",
  ...readdirSync(`${ROOT}docs`)
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

/** A declaration (function, constant, type, class, method) as it stands in a file; or all of it. */
export function declaration(file: string, name: string): string {
  const text = readFileSync(`${ROOT}${file}`, "utf8");
  if (name === "") return text.trimEnd();
  const lines = text.split("\n");
  const word = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const keyword = "(export )?((async )?function\\*?|const|let|type|class) ";
  const topLevel = new RegExp(`^${keyword}${word}(?![\\w$])`);
  const method = new RegExp(`^  (async )?${word}\\((.*[({])?$`);
  const find = (start: RegExp) => lines.findIndex((line) => start.test(line));
  const block = new RegExp(`^${word} ?\\(.*[({]$`); // as in `while (…) {` or `serve(() => {`
  const first = [find(topLevel), find(method), find(block)].find((at) => at >= 0);
  if (first === undefined) throw new Error(`${file} has no ${name}`);
  const indent = /^ */.exec(lines[first] as string)?.[0] ?? "";
  const isEnd = (line: string) =>
    line.startsWith(indent) && /^[})\]]+[;,]?$/.test(line.slice(indent.length));
  const isWhole =
    /[;}]$/.test(lines[first] as string) && !/\{$/.test(lines[first] as string);
  const length = isWhole
    ? 1
    : lines.slice(first).findIndex((line, at) => at > 0 && isEnd(line)) + 1;
  return lines
    .slice(first, first + length)
    .map((line) => line.slice(indent.length))
    .join("\n");
}

/** The text with every such block replaced by what it stands for. */
export async function refresh(
  text: string,
  record: (name: string) => Promise<string>,
): Promise<string> {
  const block = /(<!-- (recorded|code): (.+?) -->\n+```\w*\n)[^]*?(\n```)/g;
  const pieces: string[] = [];
  let end = 0;
  for (const match of text.matchAll(block)) {
    const [whole, before, kind, name = "", after] = match;
    const [file = "", part = ""] = name.split(", ");
    const content = kind === "code" ? declaration(file, part) : await record(name);
    pieces.push(text.slice(end, match.index), `${before}${content}${after}`);
    end = match.index + whole.length;
  }
  return pieces.join("") + text.slice(end);
}

const recorded = new Map<string, Promise<string>>();

/** What is recorded under a name, once. */
export async function record(name: string): Promise<string> {
  const recording = recorded.get(name) ?? RECORDINGS[name]?.();
  if (!recording) throw new Error(`there is no recording ${name}`);
  recorded.set(name, recording);
  return recording;
}

if (isMain(import.meta.url)) {
  for (const file of FILES) {
    const text = readFileSync(file, "utf8");
    const fresh = await refresh(text, record);
    if (fresh !== text) console.log(`recorded ${file}`);
    writeFileSync(file, fresh);
  }
  for (const [file, draw] of Object.entries(PICTURES)) writeFileSync(file, await draw());
}
