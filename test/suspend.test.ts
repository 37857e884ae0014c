/** Ctrl-Z and `fg`, in a real shell: it gets its terminal back, and the program its keys. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { hasTerminal, openShell } from "./terminal.ts";

const skip = hasTerminal ? false : "needs a Linux with script(1) and bash";
const CTRL_Z = "\x1a";

const LAUNCHERS = ["node --import tsx", "npx tsx"];
// From this version on, Node runs TypeScript itself.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major > 22 || (major === 22 && minor >= 18)) LAUNCHERS.push("node");

const ASKER = "--server node --tool any -- test/peers/asks-two-at-once.mjs";

for (const launcher of LAUNCHERS) {
  test(`it stops at Ctrl-Z and goes on after fg (${launcher})`, { skip }, async () => {
    const { type, see, ended } = openShell();
    await see(/shell\$ $/);
    type(`${launcher} client.ts ${ASKER}\r`);
    await see(/First\?[^]*> $/);
    type("Gr");
    await see(/Gr$/);
    type(CTRL_Z);
    await see(/Stopped[^]*shell\$ $/);
    type("echo alive $((40 + 2))\r"); // the shell has its terminal, echo and all
    await see(/alive 42\n[^]*shell\$ $/);
    type("fg\r");
    await see(/> Gr$/);
    type("XX\x7f\x7face\r");
    await see(/Second\?[^]*> $/);
    type(CTRL_Z);
    await see(/Stopped[^]*shell\$ $/);
    type("fg\r");
    await see(/> $/);
    type("\x04"); // cancels
    await see(/q1 accept Grace, q2 cancel\n[^]*shell\$ $/);
    // Ctrl-C ends the program after a stop as before.
    type(`${launcher} client.ts ${ASKER}\r`);
    await see(/First\?[^]*> $/);
    type(CTRL_Z);
    await see(/Stopped[^]*shell\$ $/);
    type("fg\r");
    await see(/> $/);
    type("\x03");
    await see(/shell\$ $/);
    type("echo code $?\r");
    await see(/code 130\n[^]*shell\$ $/);
    type("exit\r");
    assert.equal(await ended, 0);
  });
}

test(
  "it stops where no question is open, and takes nothing typed to the shell",
  { skip },
  async () => {
    const { type, see, ended, screen } = openShell();
    await see(/shell\$ $/);
    type("node --import tsx test/peers/asker.ts\r");
    await see(/Who\?[^]*> $/);
    type("Ada\ry");
    await see(/answered: \{"action":"accept","content":\{"name":"Ada"\}\}\n/);
    type(CTRL_Z);
    await see(/Stopped[^]*shell\$ $/);
    type("fg\r");
    await see(/y agrees[^]*A line typed before the question was dropped\.\n[^]*> $/);
    type("\r");
    await see(/That must be y or n\.\n[^]*> $/);
    type("y\r");
    await see(/agreed: \{"action":"accept","content":\{\}\}\n[^]*shell\$ $/);
    type("exit\r");
    assert.equal(await ended, 0, screen());
  },
);

test("it goes on at Ctrl-Z where there is no shell to go back to", { skip }, async () => {
  const { openTerminal } = await import("./terminal.ts");
  const { type, see, ended } = openTerminal(["test/peers/asker.ts"]);
  await see(/Who\?[^]*> $/);
  type(`A${CTRL_Z}da\r`);
  await see(/answered: \{"action":"accept","content":\{"name":"Ada"\}\}\n/);
  type("\x03");
  assert.equal(await ended, 130);
});
