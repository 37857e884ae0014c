import { callTool, connect } from "./mcp/connect.ts";
import { startProcess } from "./mcp/process.ts";

const session = await connect(() => startProcess("server.ts"), {
  self: { name: "pizza-lover", version: "1.0.0" },
  answerer: {
    form: async ({ message }) => {
      const order = { size: "large", count: 2 };
      return { action: "accept", content: /Which/.test(message) ? order : { yes: true } };
    },
  },
});
const { content } = await callTool(session, "order_pizza");
console.log(content[0]?.["text"]);
await session.close();
