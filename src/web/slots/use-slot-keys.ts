import type { Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { NO_SELECTION, type Selection } from "./selection.ts";

interface Targets {
  readonly search: Signal<string>;
  readonly selection: Signal<Selection>;
  readonly showAll: () => void;
}

const TEXT_FIELD = "input:not([type=checkbox]), textarea, select, [contenteditable]";

/** `/` goes to the search; Escape clears it, then the selection, then the filters. */
export function useSlotKeys(
  view: { readonly current: HTMLElement | null },
  { search, selection, showAll }: Targets,
): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const { key, target } = event;
      // These have keys of their own.
      if (document.querySelector("dialog[open], :popover-open") !== null) return;
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const field = view.current?.querySelector<HTMLInputElement>("input[type=search]");
      const isTyping = target instanceof Element && target.matches(TEXT_FIELD);
      if (key === "/" && !isTyping) {
        event.preventDefault();
        field?.focus();
      } else if (key === "Escape" && (!isTyping || target === field)) {
        if (search.value !== "") search.value = "";
        else if (selection.value.keys.size > 0) selection.value = NO_SELECTION;
        else showAll();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}
