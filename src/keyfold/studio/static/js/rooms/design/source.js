// Source with line numbers. The words' kinds come from Python's own tokenizer.
import { html } from "../../html.js";

const START = 14;

/** Lines of source ({file, path, line, lines}); long ones are folded after some lines. */
export function Source({ source, whole = false }) {
  const first = whole ? source.lines : source.lines.slice(0, START);
  const rest = whole ? [] : source.lines.slice(START);
  return html`<div class="src" role="region" aria-label="Source of ${source.file}" tabindex="0">
    <pre class="code"><${Lines} lines=${first} /></pre>
    ${rest.length > 0 && html`<details><summary>${rest.length} more lines</summary><pre class="code"><${Lines} lines=${rest} /></pre></details>`}
  </div>`;
}

function Lines({ lines }) {
  return html`${lines.map((line) => html`<span class="ln">${line.number}</span>${line.words.map(([kind, text]) => (kind ? html`<span class=${kind}>${text}</span>` : text))}${"\n"}`)}`;
}

/** The section of the side pane. */
export function SourceSection({ source }) {
  if (!source) return html`<section class="sec"><h3>Source</h3><p class="dim small">It was not declared in a file.</p></section>`;
  return html`<section class="sec"><h3>Source<span class="end mono clip" title=${source.path ?? source.file}>${source.file}:${source.line}</span></h3><${Source} source=${source} /></section>`;
}
