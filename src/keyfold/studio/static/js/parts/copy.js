// Copies a text, and says so for a moment.
import { html, useState } from "../html.js";
import { Icon } from "./icon.js";

/** Copy a text; returns whether the browser allowed it. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

export function CopyButton({ text, label = "Copy" }) {
  const [said, setSaid] = useState("");
  const copy = async () => {
    setSaid((await copyText(text)) ? "Copied" : "The browser refused");
    setTimeout(() => setSaid(""), 1500);
  };
  return html`<button type="button" class="iconbtn" aria-label=${label} title=${label} onClick=${copy}><${Icon} name=${said === "Copied" ? "check" : "copy"} /><span class="sr" role="status">${said}</span></button>`;
}

/** Save a text as a file. */
export function saveFile(name, text, type = "text/plain") {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
