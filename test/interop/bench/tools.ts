/** What the servers of the benchmark share. */
import * as z from "zod";

/** `text` is ballast for the way there, `size` is how much of it comes back. */
export const Input = z.object({
  text: z.string().default(""),
  size: z.number().default(1),
});

export const QUESTION = "What is your name?";
export const NAME_FORM = {
  type: "object" as const,
  properties: { name: { type: "string" as const } },
  required: ["name"],
};

/** The buffers of the SDK end at 10 MiB unless they are told otherwise. */
export const MAX_BYTES = 64 * 1024 * 1024;

export function memory(): { rss: number; heapUsed: number } {
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  return { rss, heapUsed };
}
