// A dialog over the page: focus stays in it, Escape closes it.
import { html, useEffect, useRef } from "../html.js";
import { Icon } from "./icon.js";

export function Dialog({ title, onClose, children, className = "" }) {
  const element = useRef(null);
  useEffect(() => {
    element.current.showModal();
  }, []);
  const close = (event) => {
    event.preventDefault();
    onClose();
  };
  const press = (event) => {
    if (event.target === element.current) onClose();
  };
  return html`<dialog ref=${element} class="dialog ${className}" aria-label=${title} onCancel=${close} onMouseDown=${press}>
    <header class="row"><h2 class="grow">${title}</h2><button type="button" class="iconbtn" aria-label="Close" onClick=${onClose}><${Icon} name="x" /></button></header>
    ${children}
  </dialog>`;
}
