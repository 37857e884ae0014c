/**
 * Keeps the outputs in README and docs true. A code block below `<!-- recorded: name -->` is
 * what the run of that name really printed. To record all of them anew:
 *
 *     npx tsx test/record.ts
 */
import { readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { startStooq } from "./stooq.ts";
import { run } from "./support.ts";
import { openTerminal } from "./terminal.ts";

/** Runs the client in a terminal and types a line at each prompt. */
async function type(args: string, lines: string[]): Promise<string> {
  // Stooq as it is since June 2026.
  const stooq = await startStooq((_request, response) => response.writeHead(404).end());
  const env = ["--env", `STOOQ_URL=${stooq.url}`];
  const terminal = openTerminal(["client.ts", ...args.split(" "), ...env], {
    columns: 80,
  });
  for (const line of lines) {
    await terminal.see(/\n> /);
    terminal.type(`${line}\r`);
  }
  await terminal.ended;
  await stooq.close();
  const screen = terminal.screen().replace(/ +$/gm, "").replace(/\n+$/, "");
  return `$ npx tsx client.ts ${args}\n${screen}`;
}

export const RECORDINGS: Record<string, () => Promise<string>> = {
  session: () => type("--server server.ts", ["nvda", ""]),
  form: () =>
    type("--server test/forms.ts --tool booking", ["Grace", "3", "", "3", "y", ""]),
  refused: () => type("--server test/forms.ts --tool integer", ["9", "four", "4"]),
  help: async () =>
    (await run("client.ts", ["--help"])).stdout.split("\n").slice(2).join("\n").trimEnd(),
};

/** Where recordings stand. */
export const FILES = ["README.md", ...readdirSync("docs").map((name) => `docs/${name}`)];

/** The text with every recorded block replaced by what `record` returns for its name. */
export async function refresh(
  text: string,
  record: (name: string) => Promise<string>,
): Promise<string> {
  const block = /(<!-- recorded: (\S+) -->\n+```\w*\n)[^]*?(\n```)/g;
  const pieces: string[] = [];
  let end = 0;
  for (const match of text.matchAll(block)) {
    const [whole, before, name, after] = match;
    pieces.push(
      text.slice(end, match.index),
      `${before}${await record(String(name))}${after}`,
    );
    end = match.index + whole.length;
  }
  return pieces.join("") + text.slice(end);
}

export async function record(name: string): Promise<string> {
  const recording = RECORDINGS[name];
  if (!recording) throw new Error(`there is no recording ${name}`);
  return recording();
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  for (const file of FILES) {
    const text = readFileSync(file, "utf8");
    const fresh = await refresh(text, record);
    if (fresh !== text) console.log(`recorded ${file}`);
    writeFileSync(file, fresh);
  }
}
