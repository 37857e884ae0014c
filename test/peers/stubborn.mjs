/** Stays when its input ends, and at SIGTERM and SIGINT too. */
import { serve } from "./base.mjs";

for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => {});
setInterval(() => {}, 1000);
console.error(`pid ${process.pid}`);
serve();
