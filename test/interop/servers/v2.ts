/** A server on SDK v2, for both eras, that asks in every way there is. */
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { makeServer } from "./v2-tools.ts";

serveStdio(makeServer);
