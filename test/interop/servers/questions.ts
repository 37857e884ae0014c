/** What the servers on the SDKs ask: rounds of questions, by tool. */
import { DEFAULTS, formOf } from "../../forms.ts";

export type Asks = Record<
  string,
  { method: "elicitation/create"; params: Record<string, unknown> }
>;

const form = (names: string[], hasDefaults: boolean) => ({
  method: "elicitation/create" as const,
  params: {
    mode: "form",
    message: `About ${names.join(", ")}`,
    requestedSchema: formOf(names, true, hasDefaults),
  },
});
const page = {
  method: "elicitation/create" as const,
  params: { mode: "url", message: "Sign in.", url: "https://auth.example.com/in" },
};
const names = Object.keys(DEFAULTS);

export const asks: Record<string, Asks[]> = {
  nothing: [],
  everything: [{ all: form(names, true) }],
  twice: [{ first: form(["text"], false) }, { second: form(["integer"], false) }],
  together: [{ first: form(["text"], false), second: form(["integer"], false) }],
  page: [{ page }],
};

export const toolList = Object.keys(asks).map((name) => ({
  name,
  description: `Asks: ${name}`,
  inputSchema: { type: "object" as const },
}));

export const echo = (answers: Record<string, unknown>) => ({
  content: [{ type: "text" as const, text: JSON.stringify(answers) }],
});
