/** A program that waits for what has a long and hostile name, until it is shown twice. */
import { setTimeout as sleep } from "node:timers/promises";
import { Screen } from "../../mcp/screen.ts";
import { PLAIN } from "../../mcp/text.ts";
import { HOSTILE } from "./hostile-text.ts";

const screen = new Screen(PLAIN);
const end = screen.wait(`a\n${HOSTILE.repeat(3)}`);
await sleep(2500);
end();
end();
screen.say("done");
