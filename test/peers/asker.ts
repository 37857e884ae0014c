/**
 * A program with one person and no server: it asks for a name, works until it is continued
 * after a stop, and asks for consent.
 */
import { readForm } from "../../mcp/form.ts";
import { Person } from "../../mcp/person.ts";

const person = new Person(process.stdin, process.stderr);
person.onInterrupt = () => process.exit(130);
const asker = { command: "asker" };
const properties = { name: { type: "string", title: "Name" } };
const fields = readForm({ type: "object", properties, required: ["name"] });
const answer = await person.ask({ message: "Who?", fields }, asker);
person.print(`answered: ${JSON.stringify(answer)}`);
const clock = setInterval(() => {}, 1000);
await new Promise<void>((resolve) => process.once("SIGCONT", () => resolve()));
clearInterval(clock);
const consent = await person.ask({ message: "Really?", fields: [] }, asker);
person.print(`agreed: ${JSON.stringify(consent)}`);
person.close();
