// The states of every view: empty, loading, failed, denied. Each says why, and what to do next.
import { html } from "../html.js";
import { Icon } from "./icon.js";

/** Nothing was found: what was asked, and the next step as children. */
export function Empty({ title, children }) {
  return html`<div class="empty"><p><b>${title}</b></p>${children}</div>`;
}

/** A skeleton in the shape of what comes; only after a moment, so that nothing flickers. */
export function Loading({ isSlow = true, label = "Loading", onCancel }) {
  if (!isSlow) return html`<div class="loading" aria-busy="true"></div>`;
  return html`<div class="loading" aria-busy="true">
    <span class="skeleton"></span><span class="skeleton"></span><span class="skeleton short"></span>
    <p class="dim" role="status">${label} ${onCancel && html`<button type="button" class="btn quiet" onClick=${onCancel}>Cancel <kbd>Esc</kbd></button>`}</p>
  </div>`;
}

/** An error: the message as the store words it, its code, and what to do. */
export function Failed({ error, onRetry, children }) {
  if (error.isDenied) return html`<${Denied} error=${error}>${children}<//>`;
  return html`<div class="note err" role="alert"><${Icon} name="warn" /><div>
    <p><b>${error.message}</b> ${error.code && html`<code>[${error.code}]</code>`}</p>
    ${children}
    ${onRetry && html`<p><button type="button" class="btn" onClick=${onRetry}>Try again</button></p>`}
  </div></div>`;
}

/** A right is missing: which one, and that nothing was done. */
export function Denied({ error, children }) {
  return html`<div class="note err" role="alert"><${Icon} name="deny" /><div>
    <p><b>${error.message}</b> <code>[${error.code}]</code></p>
    ${children}
  </div></div>`;
}

/** A remark: `kind` is warn, ok, err or nothing. */
export function Note({ kind = "", icon = "info", children }) {
  return html`<div class="note ${kind}"><${Icon} name=${kind === "warn" ? "warn" : kind === "ok" ? "check" : icon} /><div>${children}</div></div>`;
}
