// Dead letters: changes that a handler failed on, with the error, and their retry.
import { html, useState } from "../../html.js";
import { act, useAction } from "../../api.js";
import { setQuery } from "../../router.js";
import { CopyButton } from "../../parts/copy.js";
import { Icon } from "../../parts/icon.js";
import { Empty, Failed, Loading, Note } from "../../parts/states.js";
import { showCount, showExactTime, showTime } from "../../parts/text.js";
import { ChangeRow } from "./list.js";

const STATES = { failed: ["err", "deny"], waiting: ["", "clock"], retrying: ["warn", "refresh"] };

export function DeadLetters({ table, here, state }) {
  const follower = here.query.follower;
  const { result, error, isSlow, reload } = useAction("changes/dead-letters", { follower });
  const [told, setTold] = useState(null);
  const [failure, setFailure] = useState(null);
  const retry = async (which) => {
    setFailure(null);
    try {
      const answer = await act("changes/retry", { follower: result.follower, ...which });
      setTold(answer.result.retrying);
      reload();
    } catch (found) {
      setFailure(found);
    }
  };
  if (error) return html`<div class="sec"><${Failed} error=${error} onRetry=${error.isDenied ? undefined : reload} /></div>`;
  if (!result) return html`<${Loading} isSlow=${isSlow} label="Reading dead letters" />`;
  if (result.followers === null) return html`<div class="sec"><${NoFollower} table=${table} state=${state} /></div>`;
  const failed = result.letters.filter((each) => each.state === "failed");
  return html`<div class="pane changespane"><div class="sec">
    <p class="row lettershead">
      ${result.followers.length > 1 ? html`<label class="row">Follower <select value=${result.follower} onChange=${(event) => setQuery({ follower: event.target.value })}>${result.followers.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>` : html`<span>Follower <b>${result.follower}</b></span>`}
      <span class="dim">${result.count ? showCount(result.count, "dead letter") : "no dead letters"}${result.count > result.letters.length ? `, the first ${result.letters.length} are shown` : ""}</span>
      <span class="grow"></span>
      <button type="button" class="btn quiet" onClick=${reload}><${Icon} name="refresh" />Read again</button>
      ${failed.length > 1 && !state.readOnly && html`<button type="button" class="btn" onClick=${() => retry({})}>Retry all ${failed.length}</button>`}
    </p>
    <div aria-live="polite">${told !== null && html`<${Note} kind="ok">${told === 0 ? "Nothing is left to retry." : html`${showCount(told, "dead letter")} marked for retry. A running follower delivers ${told === 1 ? "it" : "them"}; start one with <code>${state.follow}</code>`}<//>`}${failure && html`<${Failed} error=${failure} />`}</div>
    ${result.letters.length === 0 ? html`<${Empty} title="Every change was handled."><p class="dim">A change becomes a dead letter when a handler fails on it several times. Later changes of the same item then wait behind it.</p><//>` : html`<ul class="letters">${result.letters.map((letter) => html`<${Letter} key=${`${letter.sequence} ${letter.handler}`} table=${table} letter=${letter} onRetry=${state.readOnly ? null : retry} />`)}</ul>`}
  </div></div>`;
}

function Letter({ table, letter, onRetry }) {
  const [kind, icon] = STATES[letter.state];
  return html`<li class="letter">
    <p class="row"><b class="mono">${letter.handler}</b><span class="badge ${kind}"><${Icon} name=${icon} />${letter.state}</span><span class="dim small">${letter.attempts ? `tried ${letter.attempts} ${letter.attempts === 1 ? "time" : "times"}` : "behind an earlier change of the same item"}, <span title=${showExactTime(letter.added)}>${showTime(letter.added)}</span></span><span class="grow"></span>
      ${onRetry && letter.state === "failed" && html`<button type="button" class="btn" onClick=${() => onRetry({ handler: letter.handler, item: letter.item, sequence: letter.sequence })}>Retry</button>`}</p>
    ${letter.error && html`<p class="mono wrap err-ink">${letter.error}</p>`}
    ${letter.change && html`<ul class="changelist">${html`<${ChangeRow} table=${table} change=${letter.change} />`}</ul>`}
  </li>`;
}

function NoFollower({ table, state }) {
  if (!state.handlers.length) return html`<${Empty} title=${`${table.name} has no change handlers.`}><p class="dim">A handler is called for each change of its entities; changes on which it fails become dead letters.</p><pre class="code declare" tabindex="0" aria-label="A handler">${"@table.on_change(Order)\ndef bill_order(change: Change[Order]) -> Request[Bill] | None: …"}</pre><//>`;
  return html`<${Empty} title=${`No follower of ${table.name} has run yet.`}><p class="dim">So there are no dead letters. Its handlers are ${state.handlers.map((each, number) => html`${number ? ", " : ""}<code>${each.name}</code> (${each.entities.join(", ") || "all entities"})`)}. A follower calls them:</p><${Command} text=${state.follow} /><//>`;
}

/** A command to copy. */
export function Command({ text }) {
  return html`<div class="command"><pre class="code" tabindex="0" aria-label="Command">${text}</pre><${CopyButton} text=${text} label="Copy the command" /></div>`;
}
