import { beginRestoreGrace } from "../licenses/restore-grace.ts";
import type { MovedAway, MovedIn, RefusalsCounted } from "../model/event.ts";
import { limits } from "../model/limits.ts";
import type { Restore } from "../model/state.ts";
import { refusalKey } from "../model/demand/refusal-total.ts";
import type { MutableState } from "./mutable-state.ts";

export function moveAway(state: MutableState, { move, at }: MovedAway): void {
  state.retirement = { move, at };
}

/** The log of a pair does not continue what was restored. */
export function restore(state: MutableState, newest: Restore): void {
  state.pair = null;
  state.endedPair = null;
  state.restores.push(newest);
  if (state.restores.length > limits.restores) state.restores.shift();
  for (const { license: id } of newest.grace ?? []) {
    const license = state.licenses.get(id);
    if (license !== undefined) license.restored = beginRestoreGrace(license, newest.at);
  }
}

export function moveIn(state: MutableState, { restore: newest, at }: MovedIn): void {
  state.retirement = null;
  restore(state, newest);
  // The move was cancelled on its own host and nothing happened elsewhere: a later move gets its
  // full grace period.
  if (newest.replaced === newest.seq) return;
  // The grace period starts with the first move: repeated moves must not extend it.
  for (const license of state.licenses.values()) license.movedAt ??= at;
}

export function countRefusals(state: MutableState, event: RefusalsCounted): void {
  const { product, code, at } = event;
  const feature = event.feature ?? null;
  const key = refusalKey({ product, feature, code });
  const before = state.refusals.get(key);
  if (before === undefined && state.refusals.size >= limits.refusalTotals) return;
  const count = (before?.count ?? 0) + event.count;
  state.refusals.set(key, { product, feature, code, count, lastAt: at });
}
