/** Knows no method that it was not made for, and does not say so: the probe gets no answer. */
import { answer, serve } from "./base.mjs";

serve((message) => {
  if (message.method !== "server/discover") answer(message);
});
