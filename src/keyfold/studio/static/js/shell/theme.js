// The theme: that of the system, unless another one is chosen.
import { html, useState } from "../html.js";
import { Icon } from "../parts/icon.js";

const THEMES = ["system", "light", "dark"];
const KEY = "keyfold-studio:theme";

function read() {
  try {
    return localStorage.getItem(KEY) ?? "system";
  } catch {
    return "system";
  }
}

export function applyTheme(theme = read()) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function ThemeButton() {
  const [theme, setTheme] = useState(read);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  const choose = () => {
    setTheme(next);
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // Without storage, the choice lasts as long as the page.
    }
    applyTheme(next);
  };
  const label = `Theme: ${theme === "system" ? "follows the system" : theme}. Switch to ${next}`;
  return html`<button type="button" class="iconbtn" aria-label=${label} title=${label} onClick=${choose}><${Icon} name="theme" /></button>`;
}
