// The list of keys that work now.
import { html, useState } from "../html.js";
import { listKeys, lettersOn } from "../keyboard.js";
import { Dialog } from "../parts/dialog.js";

export function KeyList({ onClose }) {
  const [isOn, setOn] = useState(lettersOn);
  const change = () => {
    localStorage.setItem("keyfold-studio:letters", String(!isOn));
    setOn(!isOn);
  };
  return html`<${Dialog} title="Keys" onClose=${onClose}>
    <dl class="keys">${listKeys().map(([key, meaning]) => html`<dt>${key.replace("Control", "Ctrl").split(" ").map((each) => html`<kbd>${each}</kbd> `)}</dt><dd>${meaning}</dd>`)}</dl>
    <label class="row"><input type="checkbox" checked=${isOn} onChange=${change} /> Single letters work as keys</label>
  <//>`;
}
