// Virtual lists: which part of a long list is visible, by arithmetic, so that only that is mounted.
import { useEffect, useLayoutEffect, useRef, useState } from "../../html.js";

/** Return the sums of sizes: offsets[n] is where the part n starts, the last one is the whole size. */
export function sumUp(count, sizeOf) {
  const offsets = new Float64Array(count + 1);
  for (let number = 0; number < count; number += 1) offsets[number + 1] = offsets[number] + sizeOf(number);
  return offsets;
}

/** Return the first and the last part that a range shows: [first, last), with some more at each end. */
export function findWindow(offsets, start, end, extra) {
  const count = offsets.length - 1;
  const first = Math.max(0, findPart(offsets, start) - extra);
  return [first, Math.min(count, findPart(offsets, end) + 1 + extra)];
}

/** Return the number of the part that a place is in. */
export function findPart(offsets, place) {
  let low = 0;
  let high = offsets.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (offsets[middle] <= place) low = middle;
    else high = middle - 1;
  }
  return Math.max(0, low);
}

/** Return how far an element is scrolled, and its size, in one direction; follows scrolling and resizing. */
export function useScroll(element, isHorizontal = false) {
  const [view, setView] = useState({ start: 0, size: 0 });
  const frame = useRef(0);
  useLayoutEffect(() => {
    const target = element.current;
    if (!target) return undefined;
    const read = () => {
      frame.current = 0;
      const start = isHorizontal ? target.scrollLeft : target.scrollTop;
      const size = isHorizontal ? target.clientWidth : target.clientHeight;
      setView((old) => (old.start === start && old.size === size ? old : { start, size }));
    };
    const later = () => {
      frame.current ||= requestAnimationFrame(read);
    };
    read();
    target.addEventListener("scroll", later, { passive: true });
    const sizes = new ResizeObserver(later);
    sizes.observe(target);
    return () => {
      cancelAnimationFrame(frame.current);
      target.removeEventListener("scroll", later);
      sizes.disconnect();
    };
  }, [element.current]);
  return view;
}

/** Return whether the window is as narrow as a telephone. */
export function useNarrow() {
  const [isNarrow, setNarrow] = useState(() => matchMedia("(max-width: 720px)").matches);
  useEffect(() => {
    const query = matchMedia("(max-width: 720px)");
    const tell = () => setNarrow(query.matches);
    query.addEventListener("change", tell);
    return () => query.removeEventListener("change", tell);
  }, []);
  return isNarrow;
}
