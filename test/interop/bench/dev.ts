import { open } from "./client-ours.ts";
import { fileURLToPath } from "node:url";
const [version="2026-07-28", n="30000", inflight="64", what="echo"] = process.argv.slice(2);
const s = await open(fileURLToPath(new URL("server-ours.ts", import.meta.url)), version);
async function time(count:number, k:number){ let left=count; const b=performance.now(); await Promise.all(Array.from({length:k}, async()=>{while(left-->0) await s.call(what,{});})); return performance.now()-b; }
await time(2000, 8);
for (let i=0;i<3;i++) { const c0=process.cpuUsage(); const ms=await time(+n,+inflight); const c=process.cpuUsage(c0); console.log(Math.round(+n/ms*1000)+"/s", "client cpu µs/call", ((c.user+c.system)/+n).toFixed(1)); }
await s.close();
