// The edge of a side pane: dragged, or moved by the arrow keys.
import { html } from "../../html.js";

export function Resizer({ width, least, most, onResize }) {
  const set = (next) => onResize(Math.max(least, Math.min(most, Math.round(next))));
  const drag = (event) => {
    event.preventDefault();
    const start = event.clientX + width;
    const move = (next) => set(start - next.clientX);
    const stop = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", stop);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop);
  };
  const press = (event) => {
    const step = { ArrowLeft: 16, ArrowRight: -16 }[event.key];
    if (!step) return;
    event.preventDefault();
    set(width + step);
  };
  return html`<div class="edge" role="separator" aria-orientation="vertical" aria-label="Width of the side pane" aria-valuenow=${width} aria-valuemin=${least} aria-valuemax=${most} tabindex="0" onPointerDown=${drag} onKeyDown=${press}></div>`;
}
