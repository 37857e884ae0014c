/** Writes its messages in pieces, cut in the middle of characters, with BOM, CRLF and blanks. */
import { serve } from "./base.mjs";

const text = "Société Générale — 東京 €🙂";
async function drip(message) {
  const line = Buffer.from(
    `\uFEFF${JSON.stringify({ jsonrpc: "2.0", ...message })}\r\n\r\n \n`,
  );
  for (const byte of line) {
    process.stdout.write(Buffer.from([byte]));
    await new Promise(setImmediate);
  }
}

let turn = Promise.resolve();
serve(({ id, method, params }) => {
  const serverInfo = { name: text, version: "1" };
  const { protocolVersion } = params ?? {};
  const reply =
    method === "initialize"
      ? { result: { protocolVersion, capabilities: {}, serverInfo } }
      : method === "tools/call"
        ? { result: { content: [{ type: "text", text }] } }
        : { error: { code: -32601, message: text } };
  if (id !== undefined) turn = turn.then(() => drip({ id, ...reply }));
});
