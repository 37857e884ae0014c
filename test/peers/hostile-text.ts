/** What takes over a terminal, hides, reorders or breaks out of its line. */
export const HOSTILE =
  "A\u001b[1;1H\u001b]2;zz\u0007\u001b]8;;http://x\u0007link\u009b7m\r\b\u202egnp\u200b$(id)\n│ B";
