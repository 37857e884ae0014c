/** The quote of price.ts as the SDKs want it. */
import * as z from "zod";

export const Quote = z.object({
  symbol: z.string().describe("Ticker symbol, like NVDA or TSCO.UK"),
  price: z.number().positive().describe("Last price, in the currency of the market"),
  date: z.string().describe("Day of the price, by Stooq's clock (Warsaw)"),
  time: z.string().optional().describe("Time of the price, by the same clock"),
  name: z.string().optional().describe("Name of the company"),
  source: z.enum(["stooq", "sample"]).describe("sample: bundled, not a live price"),
});
