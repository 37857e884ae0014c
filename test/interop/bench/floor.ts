/** What no pair can be faster than: a program that starts itself once more, which then prints. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

if (process.argv[2] === "inner") console.log("started");
else {
  const self = fileURLToPath(import.meta.url);
  spawn(process.execPath, [...process.execArgv, self, "inner"], { stdio: "inherit" });
}
