// Who the studio acts as. As a role, the button is dark in every room, and its cross ends it.
import { html, useState } from "../html.js";
import { navigate, setQuery, writePrincipal } from "../router.js";
import { Icon } from "../parts/icon.js";
import { Popover } from "../parts/menu.js";

export function RoleButton({ table, principal }) {
  if (principal) {
    const ids = Object.values(principal.ids).join(", ");
    return html`<button type="button" class="rolebtn" data-on onClick=${() => setQuery({ as: undefined }, { replace: false })} aria-label="Stop acting as ${principal.roles.join(", ")}">
      <${Icon} name="role" /><span><span class="hide-s">as </span><b>${principal.roles.join(", ")}</b>${ids && ` · ${ids}`}</span><${Icon} name="x" />
    </button>`;
  }
  const button = html`<${Icon} name="role" /><span><span class="hide-s">as </span>administrator</span><${Icon} name="down" />`;
  return html`<${Popover} className="rolebtn" label="Act as a role" align="right" button=${button}>
    ${(close) => html`<${RoleForm} table=${table} onDone=${close} />`}
  <//>`;
}

function RoleForm({ table, onDone }) {
  const [name, setName] = useState(table.roles[0]?.name ?? "");
  const [id, setId] = useState("");
  const role = table.roles.find((each) => each.name === name);
  if (!table.roles.length) return html`<p class="pad dim">${table.name} declares no roles: <code>Role("customer", tenant="user", can={orders: READ})</code>.</p>`;
  const go = (event) => {
    event.preventDefault();
    const ids = role.tenant ? { [role.tenant]: id } : {};
    onDone();
    setQuery({ as: writePrincipal({ roles: [name], ids }) }, { replace: false });
  };
  return html`<form class="pad stack" onSubmit=${go}>
    <label>Role <select value=${name} onChange=${(event) => setName(event.target.value)}>${table.roles.map((each) => html`<option value=${each.name}>${each.name}</option>`)}</select></label>
    ${role?.tenant && html`<label>${role.tenant} <span class="field"><input required value=${id} onInput=${(event) => setId(event.target.value)} placeholder="its id, as in keys" /></span></label>`}
    <p class="row"><button class="btn primary">Act as ${name}</button> <a class="ref" href="#" onClick=${(event) => { event.preventDefault(); onDone(); navigate({ room: "role", rest: [name] }); }}>What may it touch?</a></p>
  </form>`;
}
