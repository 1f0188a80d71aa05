// The diagram's stage: zoom by buttons, keys and Ctrl with the wheel; pan by dragging or scrolling.
import { html, useCallback, useEffect, useLayoutEffect, useRef, useState } from "../../html.js";
import { useKeys } from "../../keyboard.js";
import { Icon } from "../../parts/icon.js";

const [LEAST, MOST, STEP] = [0.25, 3, 1.2];
// Below this, text is too small to read: a narrow window scrolls instead.
const READABLE = 0.72;

export function Stage({ width, height, onRoom, children }) {
  const stage = useRef(null);
  const [size, setSize] = useState(null);
  const [chosen, setChosen] = useState(null);
  useLayoutEffect(() => {
    const watch = () => {
      const { clientWidth, clientHeight } = stage.current;
      setSize({ width: clientWidth, height: clientHeight });
      onRoom({ width: clientWidth, height: clientHeight });
    };
    watch();
    const observer = new ResizeObserver(watch);
    observer.observe(stage.current);
    return () => observer.disconnect();
  }, []);
  const across = size ? Math.min(1, size.width / width) : 1;
  const scale = chosen ?? (across >= READABLE ? across : 0.9);
  const now = useRef(scale);
  now.current = scale;

  const zoom = useCallback((factor, at) => {
    const element = stage.current;
    const next = Math.max(LEAST, Math.min(MOST, now.current * factor));
    const box = element.getBoundingClientRect();
    const [x, y] = at ? [at.clientX - box.left, at.clientY - box.top] : [element.clientWidth / 2, element.clientHeight / 2];
    const [left, top] = [(element.scrollLeft + x) / now.current, (element.scrollTop + y) / now.current];
    setChosen(next);
    requestAnimationFrame(() => element.scrollTo(left * next - x, top * next - y));
  }, []);
  useEffect(() => {
    const wheel = (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 300), event);
    };
    // Preact's listener would be passive, and the browser would zoom the page.
    stage.current.addEventListener("wheel", wheel, { passive: false });
    return () => stage.current?.removeEventListener("wheel", wheel);
  }, []);
  const fit = () => {
    setChosen(Math.max(LEAST, Math.min(1, size.width / width, size.height / height)));
    stage.current.scrollTo(0, 0);
  };
  const one = () => setChosen(1);
  useKeys({ "+": [() => zoom(STEP), "zoom in"], "-": [() => zoom(1 / STEP), "zoom out"], 0: [fit, "fit the diagram"] }, [size?.width, size?.height, width, height]);

  const drag = (event) => {
    if (event.button || event.pointerType === "touch" || event.target.closest("[data-node]")) return;
    const element = stage.current;
    const start = { x: event.clientX + element.scrollLeft, y: event.clientY + element.scrollTop };
    const move = (next) => element.scrollTo(start.x - next.clientX, start.y - next.clientY);
    const stop = () => {
      element.classList.remove("dragging");
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", stop);
    };
    element.classList.add("dragging");
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop);
  };
  return html`<div class="dwrap">
    <div class="dstage" ref=${stage} onPointerDown=${drag}>${size && children(scale)}</div>
    <div class="zoom seg" role="group" aria-label="Zoom">
      <button type="button" aria-label="Zoom out" onClick=${() => zoom(1 / STEP)}>−</button>
      <button type="button" aria-label="${Math.round(scale * 100)} %: show at 100 %" onClick=${one}>${Math.round(scale * 100)} %</button>
      <button type="button" aria-label="Zoom in" onClick=${() => zoom(STEP)}>+</button>
      <button type="button" onClick=${fit}><${Icon} name="fit" />Fit</button>
    </div>
  </div>`;
}
