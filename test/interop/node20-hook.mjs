// Lets the conformance suite start on Node 20: `node --import ./node20-hook.mjs …`.
//
// The suite is one bundle that imports `globSync` from "fs", which Node has only from 22
// on. A missing export stops an ES module before its first line, although the function is
// used by none of the commands run here. So the bundle, and nothing else, is given an "fs"
// with a globSync that throws. Node 22 and later need no hook.

import { register } from "node:module";

const fsWithGlobSync = `data:text/javascript,${encodeURIComponent(`
  export * from 'node:fs';
  export { default } from 'node:fs';
  export const globSync = () => { throw new Error('this Node has no fs.globSync'); };
`)}`;

const hooks = `
  const bundle = '/@modelcontextprotocol/conformance/dist/index.js';
  export const resolve = (specifier, context, next) =>
    specifier === 'fs' && context.parentURL?.endsWith(bundle)
      ? { url: ${JSON.stringify(fsWithGlobSync)}, shortCircuit: true }
      : next(specifier, context);
`;

register(`data:text/javascript,${encodeURIComponent(hooks)}`);
