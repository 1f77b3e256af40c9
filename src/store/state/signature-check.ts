import type { State } from "../../domain/model/state.ts";

/** A part of the state that has no valid vendor signature. */
export interface UnsignedFinding {
  /** Null: it does not concern one license. */
  readonly license: number | null;
  readonly description: string;
  /** What helps if no earlier state does; absent: a backup. */
  readonly hint?: string;
}

/**
 * Checks the licenses of a folder against the documents their vendors signed; null: all of them
 * match. Passed in by the caller, because the store does not know signatures.
 */
export type SignatureCheck = (state: State) => Promise<UnsignedFinding | null>;
