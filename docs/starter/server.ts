import * as z from "zod";
import { serve } from "./mcp/serve.ts";
import { tool } from "./mcp/tool.ts";

const Order = z.object({
  size: z.enum(["small", "large"]).meta({ title: "Size" }),
  count: z.int().min(1).max(8).default(1).meta({ title: "How many" }),
});
const Confirmation = z.object({ yes: z.boolean().meta({ title: "Order now" }) });

const order_pizza = tool({
  description: "Orders pizza. Asks the user which one, and before it orders.",
  input: z.object({}),
  async run(_args, { ask, once, callId }) {
    const { size, count } = await ask("order", "Which pizza?", Order);
    const price = await once("price", async () => count * (size === "large" ? 12 : 8));
    const question = `${count} ${size} for ${price} €?`;
    const { yes } = await ask("confirmation", question, Confirmation);
    if (!yes) return "Nothing was ordered.";
    return `${count} ${size} pizza ordered for ${price} € (order ${callId}).`;
  },
});

await serve({ order_pizza }, { name: "pizzeria", version: "1.0.0" });
