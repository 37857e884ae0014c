/**
 * What the servers of the benchmark share. Each of them has the same tools:
 *
 * - `echo` takes a text and returns another, and tells how long the first was;
 * - `ask` asks for a name, as the documents of the pair write it;
 * - `askOnce` asks the same as fast as the pair can, with a form that is made once.
 */
import * as z from "zod";

/** `text` is ballast for the way there, `size` is how much of it comes back. */
export const EchoInput = z.object({
  text: z.string().default(""),
  size: z.number().default(1),
});
export const EchoOutput = z.object({ received: z.number() });

export const AskInput = z.object({});
export const AskOutput = z.object({ name: z.string() });

export const QUESTION = "What is your name?";

/** The form, made once: as it travels, and as the check of its answer. */
export const FORM = {
  type: "object" as const,
  properties: {
    name: { type: "string" as const, title: "Name", minLength: 1, maxLength: 40 },
  },
  required: ["name"],
};
export const Form = z.object({ name: z.string().min(1).max(40) });

/** The buffers of the SDKs end at 10 MiB unless they are told otherwise. */
export const MAX_BYTES = 64 * 1024 * 1024;

/** A result: text for a model, and the same or more for a program. */
export function result<T extends Record<string, unknown>>(
  text: string,
  structuredContent: T,
) {
  return { content: [{ type: "text" as const, text }], structuredContent };
}
