import {
  findSlotChanges,
  type ListPosition,
  type SlotChanges,
} from "../../domain/views/slot-changes.ts";
import type { State } from "../../domain/model/state.ts";
import { instant, type Instant } from "../../domain/time.ts";
import { randomBytes } from "../../platform/crypto/random.ts";

/** Where a reader of the list continues. */
export interface ListCursor extends ListPosition {
  /** Which state in memory was read: positions of another one mean nothing. */
  readonly run: string;
}

export interface ChangesSince {
  readonly at: Instant;
  readonly next: ListCursor;
  /** Null: the whole list must be read again. */
  readonly changes: SlotChanges | null;
}

/** Finds what changed in the list of slots since a reader last read it. */
export class SlotChangeReader {
  #state: State | null = null;
  #run = "";

  read(state: State, since: ListCursor | null, at: Instant): ChangesSince {
    // Another object after a start, and after a failed write: the state is then read from disk.
    if (state !== this.#state) {
      this.#state = state;
      this.#run = randomBytes(6);
    }
    const next = { run: this.#run, change: state.slotChanges.position, at };
    const changes = since?.run === this.#run ? findSlotChanges(state, since, at) : null;
    return { at, next, changes };
  }
}

const CURSOR = /^([0-9a-f]{12})-(\d{1,15})-(\d{1,15})$/;

export const formatCursor = ({ run, change, at }: ListCursor): string => `${run}-${change}-${at}`;

/** Null: the text is no cursor. */
export function parseCursor(text: string): ListCursor | null {
  const [, run, change, at] = CURSOR.exec(text) ?? [];
  return run === undefined ? null : { run, change: Number(change), at: instant(Number(at)) };
}
