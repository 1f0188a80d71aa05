// The barcode under a band: all items that were read, one tick each; over 200, a tick is a range.
import { html, useEffect, useRef } from "../../html.js";

const TICK_MOST = 10;
const CANVAS_OVER = 200;

/** `visible` is the range of items on the screen: [first, last), or null if that is not known. */
export function Barcode({ table, band, visible, onJump }) {
  const { ticks, each, count } = band;
  if (!ticks.length) return null;
  const jump = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const share = Math.min(0.999, Math.max(0, (event.clientX - box.left) / box.width));
    onJump(Math.floor(share * ticks.length));
  };
  const drag = (event) => {
    if (event.buttons === 1) jump(event);
  };
  const isOn = (number) => !visible || (number * each < visible[1] && (number + 1) * each > visible[0]);
  const width = Math.min(ticks.length * TICK_MOST, 1600);
  if (ticks.length * each > CANVAS_OVER || each > 1) return html`<${Stripes} table=${table} ticks=${ticks} isOn=${isOn} visible=${visible} onJump=${jump} onDrag=${drag} title="${count.toLocaleString("en-US")} items${band.complete ? "" : " and more"}; a bar is ${each}" />`;
  return html`<div class="barcode" aria-hidden="true" style=${{ maxWidth: `${width}px` }} onMouseDown=${jump} onMouseMove=${drag}>
    ${ticks.map((code, number) => html`<i data-e=${table.entities[(code >> 1) - 1]?.hue ?? 0} class="${code & 1 ? "x" : ""}${isOn(number) ? "" : " off"}"></i>`)}
  </div>`;
}

function Stripes({ table, ticks, isOn, visible, onJump, onDrag, title }) {
  const canvas = useRef(null);
  useEffect(() => {
    const target = canvas.current;
    const width = target.clientWidth;
    const ratio = devicePixelRatio || 1;
    target.width = width * ratio;
    target.height = 8 * ratio;
    const context = target.getContext("2d");
    context.scale(ratio, ratio);
    const style = getComputedStyle(target);
    const step = width / ticks.length;
    ticks.forEach((code, number) => {
      const hue = table.entities[(code >> 1) - 1]?.hue;
      context.globalAlpha = isOn(number) ? 1 : 0.38;
      context.fillStyle = style.getPropertyValue(code & 1 ? "--line-control" : hue ? `--e${hue}` : "--line-control");
      context.fillRect(number * step, 0, Math.max(1, step - (step > 3 ? 1 : 0)), 8);
    });
  }, [ticks, visible?.[0], visible?.[1]]);
  return html`<canvas ref=${canvas} class="barcode stripes" aria-hidden="true" title=${title} onMouseDown=${onJump} onMouseMove=${onDrag}></canvas>`;
}
