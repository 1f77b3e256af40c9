import { computed, effect, signal } from "@preact/signals";
import { frame } from "./parts/common-texts.ts";
import { Segments } from "./parts/segments.tsx";
import { recall, remember } from "./remembered.ts";

const CHOICES = ["system", "light", "dark"] as const;

type ThemeChoice = (typeof CHOICES)[number];

const systemDark = matchMedia("(prefers-color-scheme: dark)");
const isSystemDark = signal(systemDark.matches);
systemDark.addEventListener("change", ({ matches }) => (isSystemDark.value = matches));

const choice = signal<ThemeChoice>(
  CHOICES.find((candidate) => candidate === recall("theme")) ?? "system",
);

/** The theme that is shown. */
export const theme = computed(() => {
  if (choice.value !== "system") return choice.value;
  return isSystemDark.value ? "dark" : "light";
});

// Without a choice the style sheet follows the system, also before this script runs.
effect(() => {
  if (choice.value === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = choice.value;
});

function chooseTheme(next: ThemeChoice): void {
  choice.value = next;
  remember("theme", next === "system" ? null : next);
}

export const ThemeChooser = () => (
  <Segments
    label={frame.theme.label}
    options={CHOICES.map((option) => [option, frame.theme[option]] as const)}
    selected={choice.value}
    onSelect={chooseTheme}
  />
);

/** Switches between light and dark; for pages without a menu. */
export function ThemeButton() {
  const next = theme.value === "dark" ? "light" : "dark";
  return (
    <button
      type="button"
      class="button"
      aria-label={frame.theme.switchTo[next]}
      onClick={() => chooseTheme(next)}
    >
      {theme.value === "dark" ? "☀" : "☾"}
    </button>
  );
}
