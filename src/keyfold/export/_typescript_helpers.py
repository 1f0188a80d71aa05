"""The functions that key builders in TypeScript call: each renders one kind of key part.

They refuse what the templates refuse, so that a key that they return is one that a template renders.
"""

from __future__ import annotations

from collections.abc import Collection

_REFUSE = """\
function refuse(name: string, value: unknown, fact: string): never {
  throw new RangeError(`${name} ${fact}; got ${JSON.stringify(value)}.`);
}"""

_HELPERS = {
    "choice": """\
function choice(name: string, value: unknown, texts: Record<string, string>): string {
  const found = Object.hasOwn(texts, String(value)) ? texts[String(value)] : undefined;
  return found ?? refuse(name, value, `must be one of ${Object.keys(texts).join(", ")}`);
}""",
    "day": """\
function day(name: string, value: string | null): string {
  const found = /^(\\d{4})-(\\d\\d)-(\\d\\d)$/.exec(value ?? "");
  const time = found ? new Date(`${value}T00:00:00Z`) : new Date(NaN);
  if (Number.isNaN(time.getTime()) || time.toISOString().slice(0, 10) !== value) {
    return refuse(name, value, "must be a date such as 2024-01-01");
  }
  return value as string;
}""",
    "decimal": """\
function decimal(name: string, value: string | number | null, digits: number, scale: number): string {
  const found = /^0*(\\d+?)(?:\\.(\\d*?)0*)?$/.exec(String(value));
  const [whole, part] = [found?.[1] ?? "", found?.[2] ?? ""];
  if (!found || whole.length > digits || part.length > scale) {
    return refuse(name, value, `must have at most ${digits} digits before the point and ${scale} after it`);
  }
  return whole.padStart(digits, "0") + (scale ? `.${part.padEnd(scale, "0")}` : "");
}""",
    "digits": """\
function digits(name: string, value: number | null, width: number): string {
  if (value === null || !Number.isSafeInteger(value) || value < 0 || String(value).length > width) {
    return refuse(name, value, `must be a whole number of at most ${width} digits`);
  }
  return String(value).padStart(width, "0");
}""",
    "instant": """\
function instant(name: string, value: string | null): string {
  const found = /^(\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d)(?:\\.(\\d{1,6}))?(Z|[+-]\\d\\d:\\d\\d)$/.exec(value ?? "");
  const time = found ? new Date(`${found[1]}${found[3]}`) : new Date(NaN);
  const text = Number.isNaN(time.getTime()) ? "" : time.toISOString();
  if (!found || !/^(?!0000)\\d{4}-/.test(text)) {
    return refuse(name, value, "must be a time with a zone, such as 2024-01-01T00:00:00Z");
  }
  return `${text.slice(0, 19)}.${(found[2] ?? "").padEnd(6, "0")}Z`;
}""",
    "text": """\
function text(name: string, value: string | null, delimiters: string, length = 0): string {
  if (!value || /\\p{Surrogate}/u.test(value)) {
    return refuse(name, value, "must be valid text, and not empty");
  }
  for (const each of delimiters) {
    if (value.includes(each)) return refuse(name, value, `must not contain ${each}`);
  }
  if (length && [...value].length !== length) {
    return refuse(name, value, `must have exactly ${length} characters`);
  }
  return value;
}""",
    "ulid": """\
function ulid(name: string, value: string | null, head: string): string {
  const id = value?.startsWith(head) ? value.slice(head.length) : "";
  if (!value || !/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(id)) {
    return refuse(name, value, `must be an id that starts with ${head}`);
  }
  return value;
}""",
    "uuid": """\
function uuid(name: string, value: string | null): string {
  if (!value || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)) {
    return refuse(name, value, "must be a UUID in lower case");
  }
  return value;
}""",
}


def write_helpers(names: Collection[str]) -> list[str]:
    """Return the functions of these names, and the one that all of them call."""
    if not names:
        return []
    return [line for name in sorted(names) for line in (_HELPERS[name], "")] + [_REFUSE]
