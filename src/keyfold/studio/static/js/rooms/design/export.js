// The diagram as a file of its own: colours and fonts are written into it, so that it needs no style sheet.
import { saveFile } from "../../parts/copy.js";

const PROPERTIES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight", "text-anchor"];
// What is drawn; everything else only contains it.
const DRAWN = new Set(["path", "rect", "text", "tspan"]);
const NAMESPACE = "http://www.w3.org/2000/svg";

/** Return the text of an SVG file that shows what an element shows. */
export function writeSvg(element, title) {
  const copy = element.cloneNode(true);
  const shown = [element, ...element.querySelectorAll("*")];
  const copied = [copy, ...copy.querySelectorAll("*")];
  shown.forEach((each, number) => {
    const style = getComputedStyle(each);
    const target = copied[number];
    for (const property of DRAWN.has(each.localName) ? PROPERTIES : []) {
      const value = style.getPropertyValue(property);
      if (value && value !== "auto") target.setAttribute(property, value);
    }
    for (const name of ["class", "tabindex", "role", "data-node", "data-line", "data-e", "aria-pressed", "aria-label", "aria-expanded", "aria-hidden"]) target.removeAttribute(name);
  });
  const [, , width, height] = element.getAttribute("viewBox").split(" ");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const paper = document.createElementNS(NAMESPACE, "rect");
  paper.setAttribute("width", width);
  paper.setAttribute("height", height);
  paper.setAttribute("fill", getComputedStyle(document.documentElement).getPropertyValue("--surface").trim());
  const label = document.createElementNS(NAMESPACE, "title");
  label.textContent = title;
  copy.prepend(label, paper);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}

export function saveSvg(element, name) {
  saveFile(`${name}.svg`, writeSvg(element, `${name}: entities, indexes and patterns`), "image/svg+xml");
}
