/** Sends back what it reads. */
process.stdin.on("data", (chunk) => process.stdout.write(chunk));
