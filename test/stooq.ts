/**
 * A stand-in for Stooq, for tests and for trying the pair where the network is not:
 *
 *     npx tsx test/stooq.ts [port]
 *     npx tsx client.ts --server server.ts --ticker NVDA --env STOOQ_URL=http://127.0.0.1:8765
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const HEADER = "Symbol,Date,Time,Open,High,Low,Close,Volume,Name";

const PRICES: Record<string, number> = {
  "nvda.us": 188.5,
  "aapl.us": 231.4,
  "msft.us": 402.25,
  "brk-b.us": 484.47,
};

/** The CSV that Stooq would send for a symbol. */
export function csv(symbol: string): string {
  const price = PRICES[symbol];
  const shown = symbol.toUpperCase();
  return price === undefined
    ? `${HEADER}\r\n${shown},N/D,N/D,N/D,N/D,N/D,N/D,N/D,${shown}\r\n`
    : `${HEADER}\r\n${shown},2026-08-20,22:00:12,${price},${price},${price},${price},100,X\r\n`;
}

export type Stooq = {
  url: string;
  /** The symbols that were asked for, in order. */
  hits: string[];
  /** Sockets that are open now. */
  sockets(): Promise<number>;
  close(): Promise<void>;
};

/** Starts the stand-in; `answer` replaces what it does with a request. */
export async function startStooq(
  answer: (request: IncomingMessage, response: ServerResponse, symbol: string) => void = (
    _request,
    response,
    symbol,
  ) => response.end(csv(symbol)),
  port = 0,
): Promise<Stooq> {
  const hits: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://stooq.test");
    const symbol = url.searchParams.get("s") ?? "";
    hits.push(url.pathname === "/q/l/" ? symbol : url.pathname);
    answer(request, response, symbol);
  });
  await once(server.listen(port, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hits,
    sockets: () =>
      new Promise((resolve) => server.getConnections((_error, count) => resolve(count))),
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const port = Number(process.argv[2] ?? 8765);
  try {
    const { url } = await startStooq(undefined, port);
    console.log(`Serving ${Object.keys(PRICES).join(", ")} at ${url}`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    console.error(
      `The stand-in can't listen on port ${port} (${code}): name another one.`,
    );
    process.exitCode = 1;
  }
}
