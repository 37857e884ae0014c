/**
 * The programs as plain JavaScript, for tests that start many of them: with no loader a pair
 * takes a quarter of the CPU. The tree keeps its shape; `server.ts` is `server.mjs` in it. What
 * a test says about the start itself, it says about the sources, through tsx.
 */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { ROOT, type Place } from "./support.ts";

/** Builds programs of a folder, and tells where they are until this process ends. */
export function build(folder: string, entryPoints: string[]): Required<Place> {
  const cwd = mkdtempSync(join(tmpdir(), "built-"));
  process.on("exit", () => rmSync(cwd, { recursive: true, force: true }));
  buildSync({
    absWorkingDir: folder,
    entryPoints,
    outdir: cwd,
    outExtension: { ".js": ".mjs" },
    platform: "node",
    format: "esm",
    bundle: true,
    splitting: true,
  });
  return { cwd, loader: [] };
}

const PROGRAMS = ["client.ts", "server.ts", "test/forms.ts", "docs/smallest/*.ts"];
export const BUILT = build(ROOT, PROGRAMS);
cpSync(join(ROOT, "test/peers"), join(BUILT.cwd, "test/peers"), { recursive: true });
