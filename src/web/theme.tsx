import { signal } from "@preact/signals";
import { frame } from "./texts/frame.ts";

type Theme = "light" | "dark";

const system = matchMedia("(prefers-color-scheme: dark)");

/** As the reader's system has it, until somebody says otherwise. */
export const theme = signal<Theme>(system.matches ? "dark" : "light");

system.addEventListener("change", ({ matches }) => set(matches ? "dark" : "light"));

function set(next: Theme): void {
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
      onClick={() => set(next)}
    >
      {theme.value === "dark" ? "☀" : "☾"}
    </button>
  );
}
