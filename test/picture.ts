/**
 * A terminal session as a picture: an SVG of real text, in the colours that the program chose.
 * It has a background of its own, so it can be read on a light and on a dark page.
 */

/** The colours by which the client writes, on a dark background. */
const STYLES: Record<number, string> = {
  1: "font-weight:bold;fill:#ffffff",
  2: "fill:#8b949e",
  31: "fill:#ff7b72",
  33: "fill:#e3b341",
  36: "fill:#56d4dd",
};
/** What ends a style, and so all of them: the client puts none into another. */
const ENDS = [0, 22, 39];

const ROW = 17;
const WIDTH = 712; // 80 columns, and margins
const TOP = 44;

/**
 * @param title what the window's bar says
 * @param bytes what was written to the terminal
 * @throws {Error} on a colour that has no style here
 */
export function drawTerminal(title: string, bytes: string): string {
  // A row that was wiped, as what is waited for on a slow machine, is not to be seen.
  const kept = bytes.replace(/[^\n]*\r\x1b\[K/g, "");
  // Readline's own movements change nothing here: it draws a prompt where the cursor is.
  const text = kept.replace(/\x1b\[[0-9;?]*[A-Za-ln-z]/g, "").replace(/\r+\n/g, "\n");
  const rows = text.trimEnd().split("\n");
  let style: number | undefined;
  const drawn = rows.map((row, at) => {
    const spans = row.split(/\x1b\[(\d*)m/).map((part, index) => {
      if (index % 2 === 0) return span(part, style);
      const code = Number(part);
      if (!ENDS.includes(code) && !STYLES[code]) throw new Error(`no style ${code}`);
      style = ENDS.includes(code) ? undefined : code;
      return "";
    });
    const y = TOP + (at + 1) * ROW;
    return `    <text x="16" y="${y}">${spans.join("") || " "}</text>\n`;
  });

  const height = TOP + rows.length * ROW + 18;
  const styles = Object.entries(STYLES).map(([code, css]) => `    .s${code}{${css}}\n`);
  const lights = ["#ff5f57", "#febc2e", "#28c840"].map(
    (fill, at) => `  <circle cx="${20 + at * 20}" cy="18" r="6" fill="${fill}"/>\n`,
  );
  return `\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}">
  <title>${escape(title)}</title>
  <style>
    text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre;fill:#d1d7e0}
${styles.join("")}  </style>
  <rect x=".5" y=".5" width="${WIDTH - 1}" height="${height - 1}" rx="10" fill="#161b22" stroke="#6e7681"/>
${lights.join("")}  <text x="${WIDTH / 2}" y="23" text-anchor="middle" class="s2">${escape(title)}</text>
  <g xml:space="preserve">
${drawn.join("")}  </g>
</svg>
`;
}

function span(text: string, style: number | undefined): string {
  if (text === "" || style === undefined) return escape(text);
  return `<tspan class="s${style}">${escape(text)}</tspan>`;
}

const escape = (text: string) =>
  text.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);
