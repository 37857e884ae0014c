// Writes the peak memory of a process to a file when it ends: `--import rss.mjs?file=…`.
import { appendFileSync } from "node:fs";

const file = new URL(import.meta.url).searchParams.get("file");
process.on("exit", () => appendFileSync(file, `${process.resourceUsage().maxRSS}\n`));
