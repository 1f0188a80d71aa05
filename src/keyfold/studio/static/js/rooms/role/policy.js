// The IAM policy of a role, and where it is wider or narrower than the role.
import { html, useState } from "../../html.js";
import { useAction } from "../../api.js";
import { CopyButton, saveFile } from "../../parts/copy.js";
import { Failed, Loading } from "../../parts/states.js";

const KINDS = { wider: "err", narrower: "warn", same: "" };

export function Policy({ role, table }) {
  const { result, error, isSlow, reload } = useAction("role/policy", { role: role.name, as: null });
  const [isOpen, setOpen] = useState(false);
  if (error) return html`<section class="sec policy"><h2 class="lbl">IAM policy</h2><${Failed} error=${error} onRetry=${reload} /></section>`;
  if (!result) return html`<section class="sec policy"><h2 class="lbl">IAM policy</h2><${Loading} isSlow=${isSlow} /></section>`;
  return html`<section class="sec policy"><h2 class="lbl">IAM policy<span class="end">${result.statements} ${result.statements === 1 ? "statement" : "statements"} · <button type="button" class="ref" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>${isOpen ? "Hide JSON" : "Show JSON"}</button></span></h2>
    ${isOpen && html`<div class="policyjson"><p class="row small"><span class="dim grow">${result.tag ? html`Tag principals with <code>${result.tag}</code>.` : "The same for all its principals."}</span><${CopyButton} text=${result.json} label="Copy the policy" /><button type="button" class="btn" onClick=${() => saveFile(`${table.name}-${role.name}.json`, result.json, "application/json")}>Save</button></p><pre class="code" tabindex="0" aria-label="The policy">${result.json}</pre></div>`}
    ${result.gaps.map((gap) => html`<div class="gap"><span class="badge ${KINDS[gap.direction]}">${gap.direction}</span><div><b>${gap.subject}</b><p>${gap.fact[0].toUpperCase() + gap.fact.slice(1)}.</p>${gap.advice && html`<p class="fix">${gap.advice}</p>`}</div></div>`)}
    ${result.gaps.length === 0 && html`<p class="dim">The policy allows exactly what the role allows.</p>`}
  </section>`;
}
