// Arrows in the diagram: up and down within a column, left and right along lines.
import { endsOf } from "./selection.js";

/** Return the id of the node that a key leads to; null if the key means nothing here. */
export function nextNode(places, lines, id, key) {
  const here = places.find((each) => each.id === id);
  if (!here) return null;
  const column = places.filter((each) => each.column === here.column);
  const at = column.indexOf(here);
  switch (key) {
    case "ArrowDown":
      return (column[at + 1] ?? here).id;
    case "ArrowUp":
      return (column[at - 1] ?? here).id;
    case "Home":
      return column[0].id;
    case "End":
      return column.at(-1).id;
    case "ArrowRight":
      return here.column === 0 ? across(places, lines, here, 1) : id;
    case "ArrowLeft":
      return here.column === 1 ? across(places, lines, here, 0) : beside(places, lines, here);
    default:
      return null;
  }
}

function linked(places, lines, here) {
  const ids = new Set(lines.map(endsOf).filter((ends) => ends.includes(here.id)).flat());
  return places.filter((each) => each.id !== here.id && ids.has(each.id));
}

function nearest(places, here) {
  return places.reduce((best, each) => (best && Math.abs(best.y - here.y) <= Math.abs(each.y - here.y) ? best : each), null);
}

/** The nearest node of the other column that a line leads to; without one, the nearest node. */
function across(places, lines, here, column) {
  const all = places.filter((each) => each.column === column);
  const found = linked(places, lines, here).filter((each) => each.column === column);
  return (nearest(found.length ? found : all, here) ?? here).id;
}

/** From an entity to an index that it is in, and from an index to an entity. */
function beside(places, lines, here) {
  const found = linked(places, lines, here).filter((each) => each.column === 0);
  return (nearest(found, here) ?? here).id;
}
