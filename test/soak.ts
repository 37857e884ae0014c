/** The long versions of three tests: `npm run soak`. */
process.env["SOAK"] = "1";
await import("./fuzz.test.ts");
await import("./load.test.ts");
await import("./faults.test.ts");
