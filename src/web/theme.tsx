import { signal } from "@preact/signals";
import { frame } from "./parts/common-texts.ts";

type Theme = "light" | "dark";

const system = matchMedia("(prefers-color-scheme: dark)");

/** The theme of the reader's system, until the reader switches it. */
export const theme = signal<Theme>(system.matches ? "dark" : "light");

system.addEventListener("change", ({ matches }) => setTheme(matches ? "dark" : "light"));

function setTheme(next: Theme): void {
  theme.value = next;
  document.documentElement.dataset["theme"] = next;
}

export function ThemeButton() {
  const next = theme.value === "dark" ? "light" : "dark";
  return (
    <button
      type="button"
      class="button"
      aria-label={frame.theme.label(frame.theme[next])}
      onClick={() => setTheme(next)}
    >
      {theme.value === "dark" ? "☀" : "☾"}
    </button>
  );
}
