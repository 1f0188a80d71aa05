// As a role: what a role may touch, which patterns it runs, why something is denied, and its IAM policy.
import { html, useEffect, useState } from "../html.js";
import { useAction } from "../api.js";
import { navigate, setQuery, writePrincipal } from "../router.js";
import { Icon } from "../parts/icon.js";
import { Empty, Failed, Loading } from "../parts/states.js";
import { Attempt, AttemptForm, readAttempt } from "./role/attempt.js";
import { Matrix } from "./role/matrix.js";
import { PatternLists } from "./role/patterns.js";
import { Policy } from "./role/policy.js";

// With more roles than this, they are in a list.
const MOST_BUTTONS = 7;

export function RoleRoom({ table, here, principal }) {
  if (!table.roles.length) return html`<${NoRoles} table=${table} />`;
  const named = here.rest[0] ?? principal?.roles[0];
  const role = table.roles.find((each) => each.name === named);
  if (!role && here.rest[0]) return html`<${Bar} table=${table} /><div class="sec"><${Empty} title=${`${table.name} has no role ${here.rest[0]}.`}><p class="dim">It has ${table.roles.map((each) => each.name).join(", ")}.</p><//></div>`;
  const chosen = role ?? table.roles[0];
  return html`<${OneRole} key=${chosen.name} table=${table} here=${here} principal=${principal} role=${chosen} />`;
}

function OneRole({ table, here, principal, role }) {
  const { tenant } = role;
  const suggested = useAction("role/tenants", tenant ? { role: role.name, as: null } : null);
  const first = suggested.result?.ids[0];
  const own = tenant ? (here.query[tenant] ?? principal?.ids[tenant] ?? "") : "";
  useEffect(() => {
    // A view of nobody says little: begin with a tenant that exists.
    if (tenant && !own && first) choose(role.name, { ...here.query, [tenant]: first }, { replace: true });
  }, [own, first]);
  const ids = tenant && own ? { [tenant]: own } : {};
  const isReady = !tenant || own !== "";
  const attempt = readAttempt(here.query);
  const body = { role: role.name, ids, as: null };
  const [counts, setCounts] = useState(false);
  const matrix = useAction("role/matrix", { ...body, count: counts });
  const patterns = useAction("role/patterns", isReady ? body : null);
  const tried = useAction("role/try", isReady && attempt ? { ...body, ...attempt } : null);
  const acting = principal?.roles.length === 1 && principal.roles[0] === role.name && (principal.ids[tenant] ?? "") === own;
  const act = () => setQuery({ as: writePrincipal({ roles: [role.name], ids }) }, { replace: false });
  const result = attempt && !tried.error ? tried.result : null;
  return html`
    <${Bar} table=${table} role=${role} here=${here}>
      ${tenant && html`<${TenantField} tenant=${tenant} own=${own} ids=${suggested.result?.ids ?? []} onChoose=${(id) => choose(role.name, { ...here.query, [tenant]: id })} />`}
      <span class="grow"></span>
      ${acting ? html`<span class="dim hide-s">Every room now runs as this role.</span>` : html`<button type="button" class="btn primary" disabled=${!isReady} onClick=${act}><${Icon} name="role" />Act as ${role.name}</button>`}
    <//>
    <div class="split rolesplit">
      <div class="pane">
        <div class="sec">
          ${matrix.error ? html`<${Failed} error=${matrix.error} onRetry=${matrix.reload} />` : matrix.result ? html`<${Matrix} table=${table} matrix=${matrix.result} tried=${result} attempt=${attempt} onCount=${() => setCounts(true)} />` : html`<${Loading} isSlow=${matrix.isSlow} label="Reading the rules" />`}
        </div>
        <div class="sec patternlists">
          ${!isReady ? html`<p class="dim">Give a ${tenant} to see which patterns run.</p>` : patterns.error ? matrix.error ? "" : html`<${Failed} error=${patterns.error} onRetry=${patterns.reload} />` : patterns.result ? html`<${PatternLists} patterns=${patterns.result.patterns} role=${role} here=${here} />` : html`<${Loading} isSlow=${patterns.isSlow} label="Trying the patterns on examples" />`}
        </div>
      </div>
      <aside class="side" aria-label="Attempt and policy">
        ${isReady && html`<${Attempt} table=${table} role=${role} ids=${ids} attempt=${attempt} tried=${tried} here=${here} />
          <${AttemptForm} key=${JSON.stringify(attempt)} table=${table} role=${role} attempt=${attempt} tried=${result} here=${here} />`}
        <${Policy} role=${role} table=${table} />
      </aside>
    </div>`;
}

/** Go to a role, with the tenant and what is tried in the address. */
export function choose(name, query, options) {
  navigate({ room: "role", rest: [name], query }, options);
}

function Bar({ table, role, here, children }) {
  const go = (name) => {
    const { as, ...kept } = here?.query ?? {};
    const next = table.roles.find((each) => each.name === name);
    const wanted = next.tenant && kept[next.tenant] ? { [next.tenant]: kept[next.tenant] } : {};
    choose(name, { as, ...wanted, try: kept.try });
  };
  const names = table.roles.map((each) => each.name);
  return html`<div class="bar rolebar"><h1>As a role</h1>
    ${names.length > MOST_BUTTONS
      ? html`<select aria-label="Role" value=${role?.name} onChange=${(event) => go(event.target.value)}>${names.map((name) => html`<option value=${name}>${name}</option>`)}</select>`
      : html`<div class="seg" role="group" aria-label="Role">${names.map((name) => html`<button type="button" aria-pressed=${name === role?.name} onClick=${() => go(name)}>${name}</button>`)}</div>`}
    ${children}
  </div>`;
}

function TenantField({ tenant, own, ids, onChoose }) {
  const [text, setText] = useState(own);
  useEffect(() => setText(own), [own]);
  const submit = (event) => {
    event.preventDefault();
    const id = text.trim();
    if (id && id !== own) onChoose(id);
  };
  const pick = (event) => {
    setText(event.target.value);
    if (ids.includes(event.target.value)) onChoose(event.target.value);
  };
  return html`<form class="tenantform" onSubmit=${submit}>
    <div class="field"><span class="faint">${tenant} =</span><input aria-label=${`Tenant: ${tenant}`} list="tenants" autocomplete="off" spellcheck="false" placeholder="its id, as in keys" value=${text} onInput=${pick} onChange=${submit} /></div>
    <datalist id="tenants">${ids.map((id) => html`<option value=${id}></option>`)}</datalist>
  </form>`;
}

function NoRoles({ table }) {
  return html`<div class="bar"><h1>As a role</h1></div>
    <div class="sec"><${Empty} title=${`${table.name} declares no roles.`}>
      <p class="dim">A role says what a kind of principal may do in which shards. Stores, servers and services then deny everything else.</p>
      <pre class="code declare">${`from keyfold import READ, Role\n\ncustomer = table.add_role(\n    Role("customer", tenant="user", can={orders: READ})\n)`}</pre>
      ${table.origin === "inferred" ? html`<p class="dim">This declaration was inferred, and roles cannot be: give yours with <code>--table MODULE:NAME</code>.</p>` : ""}
    <//></div>`;
}
