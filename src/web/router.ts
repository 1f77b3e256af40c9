import { effect, signal } from "@preact/signals";
import { recall, remember } from "./remembered.ts";

/** Views are addressed behind the `#`, so that the server need not know them. */
export const VIEWS = [
  "overview",
  "slots",
  "queue",
  "rules",
  "licenses",
  "reports",
  "audit",
  "health",
  "settings",
] as const;

export type View = (typeof VIEWS)[number];

export interface Route {
  readonly view: View;
  /** The rest of the address, which selects a screen of the view; empty: its first screen. */
  readonly params: readonly string[];
}

// An address without a view leads to the one that was open last.
const lastView = VIEWS.find((view) => view === recall("view"));
if (location.hash === "" && lastView !== undefined) {
  history.replaceState(null, "", linkTo(lastView));
}

export const currentRoute = signal<Route>(readRoute());

effect(() => remember("view", currentRoute.value.view));

addEventListener("hashchange", () => {
  currentRoute.value = readRoute();
});

export function linkTo(view: View, ...rest: readonly string[]): string {
  return `#/${[view, ...rest].map(encodeURIComponent).join("/")}`;
}

export function navigateTo(view: View, ...rest: readonly string[]): void {
  location.hash = linkTo(view, ...rest);
}

function readRoute(): Route {
  const [name = "", ...rest] = location.hash.slice(2).split("/").map(decodePart);
  const view = VIEWS.find((candidate) => candidate === name) ?? "overview";
  return { view, params: rest };
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
