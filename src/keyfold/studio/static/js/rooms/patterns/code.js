// The call of a pattern as code; the language that was copied last is remembered.
import { html, useRef } from "../../html.js";
import { useAction } from "../../api.js";
import { useKept } from "../../session.js";
import { CopyButton } from "../../parts/copy.js";
import { Failed } from "../../parts/states.js";

const LANGUAGES = [
  ["python", "Python"],
  ["boto3", "boto3"],
  ["cli", "CLI"],
  ["partiql", "PartiQL"],
  ["curl", "curl"],
];

/** `given` is the text of the arguments; null while some are missing. */
export function CopyAs({ pattern, given }) {
  const [language, setLanguage] = useKept("patterns:language", "python");
  const place = useRef(null);
  const { result, error } = useAction("patterns/code", given === null ? null : { pattern, arguments: given });
  const chosen = given === null ? null : result?.[language];
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = LANGUAGES.findIndex(([name]) => name === language);
    const next = (at + step + LANGUAGES.length) % LANGUAGES.length;
    setLanguage(LANGUAGES[next][0]);
    place.current.querySelectorAll("[role=tab]")[next].focus();
    event.preventDefault();
  };
  return html`<section class="sec" aria-label="Copy as">
    <h2 class="lbl">Copy as</h2>
    <div class="row codehead">
      <div class="seg" role="tablist" aria-label="Language" ref=${place} onKeyDown=${move}>
        ${LANGUAGES.map(([name, title]) => html`<button type="button" role="tab" id="code-tab-${name}" aria-controls="code-panel" aria-selected=${name === language} tabindex=${name === language ? "0" : "-1"} onClick=${() => setLanguage(name)}>${title}</button>`)}
      </div>
      <span class="grow"></span>
      ${chosen?.text && html`<${CopyButton} text=${chosen.text} label="Copy the code" />`}
    </div>
    <div id="code-panel" role="tabpanel" aria-labelledby="code-tab-${language}">
      ${error
        ? html`<${Failed} error=${error} />`
        : given === null
          ? html`<p class="dim small">Fill in what is required, and the code is here.</p>`
          : chosen
            ? chosen.text
              ? html`<pre class="code" tabindex="0" aria-label="Code" translate="no"><${Coloured} text=${chosen.text} language=${language} /></pre>`
              : html`<p class="dim small">${chosen.reason}</p>`
            : html`<p class="dim small" aria-busy="true">…</p>`}
    </div>
  </section>`;
}

const PIECES = {
  partiql: /(--[^\n]*|'(?:[^']|'')*')/,
  other: /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|(?:^|(?<=\n))#[^\n]*)/,
};

function Coloured({ text, language }) {
  return text.split(PIECES[language] ?? PIECES.other).map((piece, place) => {
    if (place % 2 === 0) return piece;
    return html`<span class=${piece.startsWith("#") || piece.startsWith("--") ? "c" : "s"}>${piece}</span>`;
  });
}
