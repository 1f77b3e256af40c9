/** The last attempt to lead that failed: when another one may follow, and until when it counts. */
export class FailedAttempt {
  #claimsFrom = -Infinity;
  /** The last line when the database refused the next one; null: it has more by now. */
  #refusedAfter: number | null = null;

  /** Until then the other host has a chance. */
  delayNext(until: number): void {
    this.#claimsFrom = until;
  }

  /** The database refused the line after this one. */
  noteRefusal(seq: number): void {
    this.#refusedAfter = seq;
  }

  isNextDue(now: number): boolean {
    return now >= this.#claimsFrom;
  }

  /** If not, why the attempt failed still counts, although this host can read the log. */
  isOver(now: number, seq: number): boolean {
    if (seq !== this.#refusedAfter) this.#refusedAfter = null;
    return this.isNextDue(now) && this.#refusedAfter === null;
  }
}
