import { signal } from "@preact/signals";

/** Behind the `#`, so that the server need not know the page's places. */
export const VIEWS = ["overview", "slots", "licenses", "audit", "settings"] as const;

export type View = (typeof VIEWS)[number];

export interface Place {
  readonly view: View;
  /** What is shown within it, as the address says; empty: its first screen. */
  readonly rest: readonly string[];
}

export const place = signal<Place>(read());

addEventListener("hashchange", () => {
  place.value = read();
});

export const linkTo = (view: View, ...rest: readonly string[]): string =>
  `#/${[view, ...rest].map(encodeURIComponent).join("/")}`;

export function go(view: View, ...rest: readonly string[]): void {
  location.hash = linkTo(view, ...rest);
}

function read(): Place {
  const [name = "", ...rest] = location.hash.slice(2).split("/").map(decoded);
  const view = VIEWS.find((one) => one === name) ?? "overview";
  return { view, rest };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
