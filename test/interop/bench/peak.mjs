/** Loaded before a program: writes its peak memory in KiB next to this file when it ends. */
import { readFileSync, writeFileSync } from "node:fs";

process.on("exit", () => {
  // Not resourceUsage().maxRSS: on Linux that counts what the parent held at the fork.
  const status = readFileSync("/proc/self/status", "utf8");
  const [, peak] = /VmHWM:\s+(\d+)/.exec(status);
  writeFileSync(new URL(`peak-${process.pid}.kib`, import.meta.url), peak);
});
