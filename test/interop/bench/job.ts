/** What the servers of the benchmark share. */
export const FORM = {
  type: "object" as const,
  properties: { n: { type: "integer" as const } },
  required: ["n"],
};
export const echoed = (text: string) => ({ content: [{ type: "text" as const, text }] });
