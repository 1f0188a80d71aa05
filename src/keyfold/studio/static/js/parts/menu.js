// A button that opens a list of choices, or any small pane; closed by Escape, or a click elsewhere.
import { html, useEffect, useRef, useState } from "../html.js";

export function Popover({ label, className, button, children, align = "left", ...rest }) {
  const [isOpen, setOpen] = useState(false);
  const place = useRef(null);
  const trigger = useRef(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    place.current.querySelector(".popover [autofocus], .popover input, .popover select, .popover button, .popover a")?.focus();
    const close = (event) => {
      if (event.type === "keydown" ? event.key === "Escape" : !place.current?.contains(event.target)) {
        setOpen(false);
        if (event.type === "keydown") {
          event.stopPropagation();
          trigger.current?.focus();
        }
      }
    };
    document.addEventListener("mousedown", close);
    document.addEventListener("keydown", close, true);
    return () => {
      document.removeEventListener("mousedown", close);
      document.removeEventListener("keydown", close, true);
    };
  }, [isOpen]);
  return html`<span class="popplace" ref=${place}>
    <button type="button" ref=${trigger} class=${className} aria-expanded=${isOpen} aria-haspopup="dialog" aria-label=${label} onClick=${() => setOpen(!isOpen)} ...${rest}>${button}</button>
    ${isOpen && html`<div class="popover ${align}" role="dialog" aria-label=${label}>${children(() => setOpen(false))}</div>`}
  </span>`;
}
