/** What takes over a terminal, hides, reorders or breaks out of its line, for tests. */
import { readFileSync } from "node:fs";

const file = new URL("hostile.json", import.meta.url);
export const HOSTILE: string = JSON.parse(readFileSync(file, "utf8")).text;
