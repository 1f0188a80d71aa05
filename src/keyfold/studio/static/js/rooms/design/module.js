// The declaration of a table that had none: what it was inferred from, its source, and how to keep it.
import { html } from "../../html.js";
import { useAction } from "../../api.js";
import { CopyButton, saveFile } from "../../parts/copy.js";
import { Icon } from "../../parts/icon.js";
import { Failed, Loading, Note } from "../../parts/states.js";
import { Source } from "./source.js";

export function ModuleTab({ table }) {
  const { result, error, isSlow, reload } = useAction("design/module", {});
  if (error) return html`<div class="sec"><${Failed} error=${error} onRetry=${reload} /></div>`;
  if (!result) return html`<${Loading} isSlow=${isSlow} label="Reading the declaration" />`;
  const file = result.file;
  return html`<div class="sec stack">
    <${Note}>Nobody declared ${table.name}, so this declaration was inferred: ${result.inferred_from}. Entities come from the shapes of keys and attributes; comments say how sure each one is. Rename what has a better name, and give it back with <code>--table</code>.<//>
    ${result.command && html`<p class="row cmd"><span class="dim">Write it to a file:</span> <code class="grow wrap" translate="no">${result.command}</code><${CopyButton} text=${result.command} label="Copy the command" /></p>`}
    <div class="row"><h2>The declaration</h2><span class="grow"></span><button type="button" class="btn" onClick=${() => saveFile(file, result.text, "text/x-python")}><${Icon} name="download" />Save ${file}</button><${CopyButton} text=${result.text} label="Copy the declaration" /></div>
    <${Source} source=${result.source} whole=${true} />
  </div>`;
}
