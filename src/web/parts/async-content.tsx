import type { ComponentChildren } from "preact";
import type { ReadQuery } from "../query.ts";
import { useQuery } from "../use-query.ts";
import { QueryContent } from "./query-content.tsx";

interface Props<T> {
  readonly load: ReadQuery<T>;
  /** `reload` loads again; the old content stays until then. */
  readonly children: (content: T, reload: () => Promise<void>) => ComponentChildren;
}

/** Loads its content, and again when it may have changed. */
export const AsyncContent = <T,>({ load, children }: Props<T>) => (
  <QueryContent query={useQuery(load)}>{children}</QueryContent>
);
