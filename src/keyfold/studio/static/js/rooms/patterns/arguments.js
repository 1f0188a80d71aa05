// The arguments of a pattern: what is typed in, as JSON for the server, and as parameters of the address.
// Numbers stay texts everywhere, so that none of their digits is lost.

const STRUCTURED = new Set(["model", "list", "set", "map"]);
const ZONE = /(?:[zZ]|[+-]\d\d:?\d\d)$/;
const UNITS = /^(?:(\d+)d)?\s*(?:(\d+)h)?\s*(?:(\d+)m)?\s*(?:(\d+(?:\.\d+)?)s)?$/;

/** Return the initial value of an input, of JSON such as a sample; undefined if it is not given. */
export function readJson(spec, json) {
  if (json === null || json === undefined) return undefined;
  switch (spec.kind) {
    case "choice":
      return spec.choices.find((each) => each.label === String(json))?.json;
    case "boolean":
      return json === true || json === "true" ? "true" : "false";
    case "model":
      return Object.fromEntries(
        Object.entries(json).map(([name, each]) => {
          const field = spec.fields.find((other) => other.name === name);
          return [name, field ? readJson(field, each) : each];
        }),
      );
    case "list":
    case "set":
      return Array.isArray(json) ? json.map((each) => readJson(spec.members, each)) : [];
    case "map":
      return Object.entries(json).map(([name, each]) => [name, readJson(spec.members, each)]);
    case "json":
      return typeof json === "string" ? JSON.stringify(json) : JSON.stringify(json, null, 2);
    default:
      return String(json);
  }
}

/** Return the value of an input that a parameter of the address has. */
export function readParameter(spec, text) {
  if (text === undefined) return undefined;
  if (spec.kind === "json") return text;
  if (!STRUCTURED.has(spec.kind)) return readJson(spec, text);
  try {
    return readJson(spec, JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Return a value as a parameter of the address; undefined if it is not given. */
export function writeParameter(spec, value) {
  if (value === undefined || value === "") return undefined;
  if (spec.kind === "secret") return undefined;
  if (spec.kind === "choice") return spec.choices.find((each) => each.json === value)?.label;
  if (spec.kind === "json" || !STRUCTURED.has(spec.kind)) return value;
  const { text } = writeValue(spec, value);
  return text;
}

/** Return the arguments as the text of a JSON object, with the inputs that are missing or not JSON. */
export function writeArguments(inputs, values) {
  const members = [];
  const missing = [];
  const faults = [];
  for (const spec of inputs) {
    const value = values[spec.name];
    if (isEmpty(spec, value)) {
      if (!spec.required) continue;
      const written = writeNothing(spec, spec.name);
      if (written.text === null) missing.push(...written.missing);
      else members.push(`${JSON.stringify(spec.name)}:${written.text}`);
      continue;
    }
    const written = writeValue(spec, value, spec.name);
    faults.push(...written.faults);
    members.push(`${JSON.stringify(spec.name)}:${written.text}`);
  }
  return { text: `{${members.join(",")}}`, missing, faults };
}

/** Return what a required input without a value is: null, or empty; otherwise what is missing. */
function writeNothing(spec, path) {
  if (spec.nullable) return { text: "null" };
  if (spec.kind === "list" || spec.kind === "set") return { text: "[]" };
  if (spec.kind === "map") return { text: "{}" };
  if (spec.kind !== "model") return { text: null, missing: [path] };
  const missing = findMissing(spec, {}, path);
  return missing.length ? { text: null, missing } : { text: "{}" };
}

/** Return the required fields of a model that have no value. */
function findMissing(spec, value, path) {
  return spec.fields
    .filter((field) => field.required && isEmpty(field, value[field.name]))
    .flatMap((field) => writeNothing(field, `${path}.${field.name}`).missing ?? []);
}

function isEmpty(spec, value) {
  if (value === undefined || value === "") return true;
  if (spec.kind === "model") return Object.values(value).every((each) => each === undefined || each === "");
  return false;
}

function writeValue(spec, value, path = "") {
  const faults = [];
  const inner = (members, each, name) => {
    const written = writeValue(members, each, `${path}.${name}`);
    faults.push(...written.faults);
    return written.text;
  };
  let text;
  switch (spec.kind) {
    case "boolean":
      text = value === "true" ? "true" : "false";
      break;
    case "choice":
      text = value;
      break;
    case "time":
      text = JSON.stringify(value.includes("T") && !ZONE.test(value) ? `${value}Z` : value);
      break;
    case "duration":
      text = JSON.stringify(writeDuration(value));
      break;
    case "json":
      text = value;
      if (!isJson(value)) {
        faults.push({ field: path, message: "It is not JSON. Put quotes around a text." });
        text = "null";
      }
      break;
    case "model":
      faults.push(...findMissing(spec, value, path).map((field) => ({ field, message: "It is required." })));
      text = `{${Object.entries(value)
        .map(([name, each]) => [name, each, spec.fields.find((other) => other.name === name)])
        .filter(([, each, field]) => (field ? !isEmpty(field, each) : each !== undefined))
        .map(([name, each, field]) => `${JSON.stringify(name)}:${field ? inner(field, each, name) : JSON.stringify(each)}`)
        .join(",")}}`;
      break;
    case "list":
    case "set":
      text = `[${value.map((each, place) => (isEmpty(spec.members, each) ? "null" : inner(spec.members, each, place))).join(",")}]`;
      break;
    case "map":
      text = `{${value
        .filter(([name]) => name !== "")
        .map(([name, each]) => `${JSON.stringify(name)}:${isEmpty(spec.members, each) ? "null" : inner(spec.members, each, name)}`)
        .join(",")}}`;
      break;
    default:
      text = JSON.stringify(value);
  }
  return { text, faults };
}

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Return a duration such as 1d12h in ISO 8601; anything else as it is. */
function writeDuration(text) {
  const found = UNITS.exec(text.trim());
  if (!found || !text.trim()) return text;
  const [, days, hours, minutes, seconds] = found;
  const clock = [hours && `${hours}H`, minutes && `${minutes}M`, seconds && `${seconds}S`].filter(Boolean).join("");
  return `P${days ? `${days}D` : ""}${clock ? `T${clock}` : ""}`;
}

/** Return arguments in one line, for lists: rabinovich, 6. */
export function showArguments(inputs, values) {
  return (inputs ?? [])
    .filter((spec) => !isEmpty(spec, values[spec.name]))
    .map((spec) => (spec.kind === "secret" ? "••••" : STRUCTURED.has(spec.kind) ? `${spec.name} { … }` : spec.kind === "choice" ? writeParameter(spec, values[spec.name]) : values[spec.name]))
    .join(", ");
}

const LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Return a new id: a ULID after its prefix, or a UUID. */
export function makeId(spec) {
  if (spec.kind === "uuid") return crypto.randomUUID();
  let time = Date.now();
  let head = "";
  for (let place = 0; place < 10; place += 1) {
    head = LETTERS[time % 32] + head;
    time = Math.floor(time / 32);
  }
  const random = crypto.getRandomValues(new Uint8Array(16));
  return spec.head + head + [...random].map((each) => LETTERS[each % 32]).join("");
}
