// Widths of text, measured as the page draws it, so that boxes fit their names.

const context = document.createElement("canvas").getContext("2d");
const fonts = {};
const widths = new Map();

function fontOf(kind) {
  if (!fonts[kind]) {
    const style = getComputedStyle(document.documentElement);
    const family = style.getPropertyValue(kind === "mono" || kind === "monobold" ? "--mono" : "--sans").trim() || "sans-serif";
    const size = kind === "mono" || kind === "monobold" ? 11 : kind === "small" ? 11 : 12;
    fonts[kind] = `${kind === "bold" || kind === "monobold" ? "600 " : ""}${size}px ${family}`;
  }
  return fonts[kind];
}

/** Return the width of a text; `kind` is text, small, bold, mono or monobold. */
export function measure(text, kind = "text") {
  const key = `${kind} ${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    context.font = fontOf(kind);
    width = context.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}

/** Return a text that is no wider than `most`, its end replaced by an ellipsis. */
export function shorten(text, most, kind = "text") {
  if (measure(text, kind) <= most) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (measure(`${text.slice(0, middle)}…`, kind) <= most) low = middle;
    else high = middle - 1;
  }
  return `${text.slice(0, low)}…`;
}

/** Return the width of a key template: its parts are bold. */
export function measureTemplate(template) {
  return template.pieces.reduce((sum, piece) => sum + measure(piece.text, piece.part ? "monobold" : "mono"), 0);
}

/** Return the pieces of a key template that fit into a width. */
export function shortenTemplate(template, most) {
  const pieces = [];
  let left = most;
  for (const piece of template.pieces) {
    const kind = piece.part ? "monobold" : "mono";
    const width = measure(piece.text, kind);
    if (width <= left) {
      pieces.push(piece);
      left -= width;
    } else {
      pieces.push({ ...piece, text: shorten(piece.text, left, kind) });
      break;
    }
  }
  return pieces;
}
