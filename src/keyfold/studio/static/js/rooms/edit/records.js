// Splits files into parts that the server takes: rows of CSV, whose cells may have line breaks, or lines.

const PART = 200;

/** Return the parts of a file of JSON lines: [{text, line}]. */
export function splitLines(text) {
  const lines = text.split("\n");
  const parts = [];
  for (let at = 0; at < lines.length; at += PART) {
    const some = lines.slice(at, at + PART);
    if (some.some((each) => each.trim())) parts.push({ text: some.join("\n"), line: at + 1 });
  }
  return parts;
}

/** Return the header of a CSV file, and its parts: {header, parts: [{text, line}]}. */
export function splitCsv(text) {
  const records = [];
  let start = 0;
  let line = 1;
  let first = 1;
  let isQuoted = false;
  for (let at = 0; at <= text.length; at += 1) {
    const letter = text[at];
    if (letter === '"') isQuoted = !isQuoted;
    if (letter === "\n") line += 1;
    if ((letter === "\n" && !isQuoted) || at === text.length) {
      const record = text.slice(start, at + 1);
      if (record.trim()) records.push({ text: record, line: first });
      start = at + 1;
      first = line;
    }
  }
  const [header, ...rows] = records;
  const parts = [];
  for (let at = 0; at < rows.length; at += PART) {
    const some = rows.slice(at, at + PART);
    // Between two of them there may be empty lines, which count.
    let joined = "";
    let next = some[0].line;
    for (const each of some) {
      joined += "\n".repeat(each.line - next) + each.text;
      next = each.line + each.text.split("\n").length - 1;
    }
    parts.push({ text: joined, line: some[0].line });
  }
  return { header: header?.text ?? "", parts };
}
