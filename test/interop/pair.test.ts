/** The pair on the SDK, which docs/with-the-sdk.md shows, with itself and with ours. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { startStooq } from "../stooq.ts";

let isDown = false;
const stooq = await startStooq((_request, response, symbol) => {
  if (isDown) response.writeHead(404).end();
  else response.end(`Symbol,Date,Time,Close\r\n${symbol},2026-08-20,22:00:12,188.5\r\n`);
});
after(() => stooq.close());

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const CLIENTS = { ours: here("../../client.ts"), "the SDK's": here("sdk/client.ts") };
const SERVERS = { ours: here("../../server.ts"), "the SDK's": here("sdk/server.ts") };

function run(client: string, args: string[]): Promise<{ code: number; stdout: string }> {
  const all = ["--import", import.meta.resolve("tsx"), client, ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, all, (error, stdout) =>
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout }),
    );
  });
}

for (const [whose, client] of Object.entries(CLIENTS)) {
  for (const [theirs, server] of Object.entries(SERVERS)) {
    for (const protocol of ["auto", "2026-07-28", "2025-11-25"]) {
      test(`a client of ${whose} and a server of ${theirs} do the job (${protocol})`, async () => {
        const args = [
          "--server",
          server,
          "--protocol",
          protocol,
          "--env",
          `STOOQ_URL=${stooq.url}`,
        ];
        isDown = false;
        assert.deepEqual(await run(client, [...args, "--ticker", "NVDA"]), {
          code: 0,
          stdout: "NVDA 188.5\n",
        });
        assert.equal((await run(client, [...args, "--ticker", "a b"])).code, 1);
        isDown = true;
        assert.deepEqual(await run(client, [...args, "--ticker", "NVDA", "--defaults"]), {
          code: 0,
          stdout: "NVDA 177.19 (bundled sample of 2026-02-27, not a live price)\n",
        });
      });
    }
  }
}

test("the pair on version 1 of the SDK does the job", async () => {
  const server = here("sdk/v1-server.ts");
  const args = [
    "--server",
    server,
    "--ticker",
    "NVDA",
    "--env",
    `STOOQ_URL=${stooq.url}`,
  ];
  isDown = false;
  const live = await run(here("sdk/v1-client.ts"), args);
  assert.deepEqual(live, { code: 0, stdout: "NVDA 188.5\n" });
  isDown = true;
  const sample = await run(here("sdk/v1-client.ts"), args);
  assert.match(sample.stdout, /^NVDA 177\.19 \(bundled sample/);
});
