/**
 * A server whose tools ask for every shape that a form may have, to be played with:
 *
 *     npx tsx client.ts --server test/forms.ts --tool everything
 *
 * It prints what it was answered. Other tools: each one field (`text`, `email`, `integer`,
 * `choice`, …), `confirm`, `optional`, `many`, `wide`, `two`, `page`, `patient`. With
 * `--protocol 2025-11-25` the same questions come the older way.
 */
import { formRequest } from "../mcp/form.ts";
import type { InputRequest } from "../mcp/schema.ts";
import { isMain, serve } from "../mcp/serve.ts";
import type { Tool, Tools } from "../mcp/tool.ts";

const titled = [
  { const: "s", title: "Small" },
  { const: "m", title: "Medium" },
  { const: "l", title: "Large" },
];

/** Every kind of field, each with the limits that it can have. */
export const FIELDS: Record<string, object> = {
  text: {
    type: "string",
    title: "Name",
    description: "As on the badge",
    minLength: 2,
    maxLength: 20,
  },
  email: { type: "string", title: "E-mail", format: "email" },
  uri: { type: "string", title: "Homepage", format: "uri" },
  date: { type: "string", title: "Day of arrival", format: "date" },
  "date-time": { type: "string", title: "Take-off", format: "date-time" },
  integer: { type: "integer", title: "Guests", minimum: 0, maximum: 6 },
  number: { type: "number", title: "Luggage in kg", minimum: 0, maximum: 23.5 },
  boolean: { type: "boolean", title: "Breakfast" },
  choice: { type: "string", title: "Desk", enum: ["aisle", "window"] },
  titled: { type: "string", title: "Shirt", oneOf: titled },
  legacy: {
    type: "string",
    title: "Office",
    enum: ["us", "uk"],
    enumNames: ["New York", "London"],
  },
  choices: {
    type: "array",
    title: "Talks",
    items: { type: "string", enum: ["one", "two", "three"] },
  },
  "titled-choices": {
    type: "array",
    title: "Sizes",
    minItems: 1,
    maxItems: 2,
    items: { anyOf: titled },
  },
};

/** A default for each of them. */
export const DEFAULTS: Record<string, unknown> = {
  text: "Ada",
  email: "ada@example.com",
  uri: "https://example.com/ada",
  date: "2026-02-27",
  "date-time": "2026-02-27T22:00:00Z",
  integer: 0,
  number: 12.5,
  boolean: false,
  choice: "window",
  titled: "m",
  legacy: "uk",
  choices: ["one", "three"],
  "titled-choices": ["l"],
};

export function formOf(
  names: string[],
  isRequired: boolean,
  hasDefaults: boolean,
): object {
  const field = (name: string) => [
    name,
    hasDefaults ? { ...FIELDS[name], default: DEFAULTS[name] } : FIELDS[name],
  ];
  const required = isRequired ? { required: names } : {};
  return {
    type: "object",
    properties: Object.fromEntries(names.map(field)),
    ...required,
  };
}

/** A tool that asks, and then tells what came. */
function asking(description: string, questions: Record<string, InputRequest>): Tool {
  return {
    description,
    inputSchema: { type: "object" },
    async call(_args, { answers }) {
      const isAnswered = Object.keys(questions).every((key) => key in answers);
      if (!isAnswered) return { questions };
      return { content: [{ type: "text", text: JSON.stringify(answers) }] };
    },
  };
}

const names = Object.keys(FIELDS);
const many = Array.from({ length: 200 }, (_, index) => `choice-${index + 1}`);
const page = (url: string): InputRequest => ({
  method: "elicitation/create",
  params: { mode: "url", message: "Please sign in to see your orders.", url },
});

export const tools: Tools = {
  everything: asking("Every kind of field, with defaults", {
    form: formRequest("Who is coming?", formOf(names, true, true)),
  }),
  required: asking("Every kind of field, required, without defaults", {
    form: formRequest("Who is coming?", formOf(names, true, false)),
  }),
  optional: asking("Every kind of field, optional, without defaults", {
    form: formRequest(
      "Who is coming? All of it is optional.",
      formOf(names, false, false),
    ),
  }),
  ...Object.fromEntries(
    names.map((name) => [
      name,
      asking(`One field: ${name}`, {
        form: formRequest(`One field: ${name}.`, formOf([name], true, false)),
      }),
    ]),
  ),
  booking: asking("A small form", {
    form: formRequest(
      "A room for the night.",
      formOf(["text", "titled", "boolean"], true, true),
    ),
  }),
  confirm: asking("No field at all", {
    form: formRequest("Delete all 3 files?", { type: "object", properties: {} }),
  }),
  many: asking("200 choices", {
    form: formRequest("Which one?", {
      type: "object",
      properties: { one: { type: "string", title: "One of many", enum: many } },
      required: ["one"],
    }),
  }),
  wide: asking("Wide characters and a long message", {
    form: formRequest(`東京の株価を調べます。${"とても長い文章です。".repeat(20)}`, {
      type: "object",
      properties: {
        銘柄: { type: "string", title: "銘柄コード", description: "🙂 例：7203.JP" },
      },
      required: ["銘柄"],
    }),
  }),
  two: asking("Two questions in one round", {
    first: formRequest("First?", formOf(["text"], true, false)),
    second: formRequest("Second?", formOf(["integer"], true, false)),
  }),
  page: asking("A page to open", {
    page: page("https://auth.example.com/sign-in?order=7#start"),
  }),
  suspicious: asking("A page with everything to beware of", {
    page: page("http://bank.example@xn--e1awd7f.example/%E2%80%AE?a=b"),
  }),
  /** Sends the person to a page, and waits through twelve rounds until they are done there. */
  patient: {
    description: "A page that takes its time",
    inputSchema: { type: "object" },
    async call(_args, { answers, state, canAsk }) {
      const visits = Number(state ?? 0);
      const question = page("https://auth.example.com/slow");
      if (visits === 0 && !canAsk(question)) return { content: [], isError: true };
      if (visits === 0) return { questions: { page: question }, state: 1 };
      const { action } = (answers["page"] ?? { action: "accept" }) as { action: string };
      if (action !== "accept")
        return { content: [{ type: "text", text: action }], isError: true };
      if (visits < 12)
        return visits % 2
          ? { state: visits + 1 }
          : { questions: { page: question }, state: visits + 1 };
      return { content: [{ type: "text", text: "signed in" }] };
    },
  },
};

if (isMain(import.meta.url)) await serve(tools, { name: "forms", version: "1.0.0" });
