// Call key builders: node run_builders.mjs MODULE CASES. Prints a JSON list of keys, or of refusals.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [, , module, cases] = process.argv;
const builders = await import(pathToFileURL(module));
const results = JSON.parse(readFileSync(cases, "utf8")).map(([name, parts]) => {
  try {
    return builders[name](parts) ?? null;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { refused: error.message };
  }
});
console.log(JSON.stringify(results));
