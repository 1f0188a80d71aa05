// A huge value, in a viewer of its own: it comes in pieces of 64 KB, as far as one reads.
import { html, useEffect, useRef, useState } from "../../html.js";
import { act } from "../../api.js";
import { Dialog } from "../../parts/dialog.js";
import { Failed } from "../../parts/states.js";
import { saveFile } from "../../parts/copy.js";

const KINDS = { S: "text", N: "number", B: "binary, in base 64", L: "list", M: "map", SS: "set of texts", NS: "set of numbers", BS: "set of binaries" };

export function ValueViewer({ at, field, onClose }) {
  const [pieces, setPieces] = useState([]);
  const [facts, setFacts] = useState(null);
  const [error, setError] = useState(null);
  const aborting = useRef(null);
  const load = async (from) => {
    aborting.current = new AbortController();
    try {
      const { result } = await act("items/value", { key: at, attribute: field.attribute, from }, { signal: aborting.current.signal });
      setPieces((old) => [...old, result.text]);
      setFacts(result);
      return result;
    } catch (failure) {
      if (failure.name !== "AbortError") setError(failure);
      return null;
    }
  };
  useEffect(() => {
    load(0);
    return () => aborting.current?.abort();
  }, []);
  const loadRest = async () => {
    let next = facts.next;
    while (next !== null) next = (await load(next))?.next ?? null;
  };
  return html`<${Dialog} title=${field.name} className="viewer" onClose=${onClose}>
    ${error && html`<${Failed} error=${error} />`}
    ${facts && html`<p class="row dim small"><span>${KINDS[facts.kind] ?? facts.kind}, ${facts.characters.toLocaleString("en-US")} characters</span><span class="grow"></span>${facts.next === null ? html`<button type="button" class="btn quiet" onClick=${() => saveFile(`${field.attribute}.txt`, pieces.join(""))}>Save as a file</button>` : html`<span>${facts.next.toLocaleString("en-US")} shown</span><button type="button" class="btn" onClick=${() => load(facts.next)}>Next 64 KB</button><button type="button" class="btn quiet" onClick=${loadRest}>All</button>`}</p>`}
    <pre class="code viewed" tabindex="0" translate="no" aria-busy=${facts ? undefined : "true"}>${pieces}</pre>
  <//>`;
}
