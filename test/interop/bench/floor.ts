/** The least that two programs cost: this one starts itself once more, which says hello. */
import { spawn } from "node:child_process";

const [script = "", isChild] = process.argv.slice(1);
if (isChild) console.log("hello");
else
  spawn(process.execPath, [...process.execArgv, script, "child"], { stdio: "inherit" });
