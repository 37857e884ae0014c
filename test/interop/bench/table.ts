/** The table of figures: medians, ratios, what we want them to be, and who is ahead. */

/** Values of one figure, one for each run. */
export type Values = number[];

export type Row = {
  what: string;
  unit: string;
  /** Whether more of it is better, as of calls, or less, as of milliseconds. */
  better: "more" | "less";
  ours: Values;
  /** What people use, in the same job; `by` tells which of two ways it is. */
  v2?: Values | undefined;
  v1?: Values | undefined;
  by?: string | undefined;
  /** What is no peer: a bare start, a smaller message. */
  other?: Values;
  /** What the ratio is held against: the better SDK, unless it is said here. */
  against?: Values;
  reach: number;
};

const HEAD = [
  "figure",
  "ours",
  "SDK v2",
  "SDK v1",
  "compared with",
  "ratio",
  "reach",
  "against the best peer",
];

/** The rows as a table in Markdown. */
export function tableOf(rows: Row[]): string {
  const lines = [HEAD, HEAD.map((_, column) => (column ? "--:" : "---"))];
  for (const row of rows) lines.push(cellsOf(row));
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function cellsOf(row: Row): string[] {
  const { what, unit, better, ours, v2, v1, by, other, reach } = row;
  const best = bestOf([v2, v1], better);
  const against = row.against ?? best;
  if (!against) throw new Error(`${what}: nothing to compare with`);
  const ratio = medianRatio(ours, against);
  const isReached = better === "more" ? ratio >= reach : ratio <= reach;
  const aim = `${better === "more" ? "≥" : "≤"} ${reach}`;
  const lead =
    best && (better === "more" ? medianRatio(ours, best) : medianRatio(best, ours));
  const show = (values?: Values) =>
    values === undefined ? "" : `${round(median(values))} ${unit}`;
  return [
    what,
    show(ours),
    by === undefined ? show(v2) : `${show(v2)} (${by})`,
    show(v1),
    show(other),
    ratio.toFixed(2),
    isReached ? aim : `${aim}, missed`,
    // The mark goes by what is shown: 0.997 is level.
    lead === undefined
      ? ""
      : `${lead.toFixed(2)}${Number(lead.toFixed(2)) < 1 ? " ◄" : ""}`,
  ];
}

/** The best of what people use. */
export function bestOf(
  peers: (Values | undefined)[],
  better: "more" | "less",
): Values | undefined {
  const sign = better === "more" ? -1 : 1;
  return peers
    .filter((values) => values !== undefined)
    .sort((a, b) => sign * (median(a) - median(b)))[0];
}

function median(values: Values): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low = NaN, high = NaN] = [(sorted.length - 1) >> 1, sorted.length >> 1].map(
    (at) => sorted[at],
  );
  return (low + high) / 2;
}

/** The median of the ratios of each run: what slows down a whole run cancels out. */
function medianRatio(values: Values, others: Values): number {
  return median(values.map((value, run) => value / (others[run] ?? NaN)));
}

function round(value: number): string {
  return value >= 1000
    ? Math.round(value).toLocaleString("en")
    : value.toPrecision(3).replace(/\.0+$/, "");
}
