// What must hold in true time, whatever the clock showed: the main promise of a license server.
// It is checked against what the rules recorded and show, without the model.
import type { Event } from "../../src/domain/model/event.ts";
import type { State } from "../../src/domain/model/state.ts";
import type { Instant } from "../../src/domain/time.ts";
import type { RegistrationView } from "../../src/domain/views/views.ts";

/**
 * A borrow that was granted while the clock was right: its lease is valid until then in true time.
 */
interface TrueBorrow {
  readonly license: number;
  readonly user: string;
  readonly until: Instant;
}

export class TrueTimeCheck {
  #borrows: TrueBorrow[] = [];
  readonly #slots = new Set<number>();

  /** Describes what is wrong with the events recorded at this true instant; null if nothing is. */
  checkEvents(
    events: readonly Event[],
    state: State,
    now: Instant,
    isClockRight: boolean,
  ): string | null {
    for (const event of events) {
      const problem = isClockRight ? this.#checkGrant(event, state, now) : null;
      if (problem !== null) return problem;
      this.#record(event, state, isClockRight);
    }
    return null;
  }

  /** A borrow that was granted by the right clock must still be shown. */
  checkViews(views: readonly RegistrationView[], now: Instant): string | null {
    const lost = this.#borrows.find(
      ({ license, user, until }) =>
        now < until &&
        !views.some(
          (view) =>
            view.license === license && view.user === user && (view.borrowedUntil ?? 0) >= until,
        ),
    );
    return lost === undefined
      ? null
      : `a borrow is missing before its end: ${JSON.stringify(lost)}`;
  }

  /** A new slot must be one of those that are not borrowed by other users. */
  #checkGrant(event: Event, state: State, now: Instant): string | null {
    if (event.type !== "SlotTaken" && event.type !== "SlotBorrowed") return null;
    if (this.#slots.has(event.slot)) return null;
    const otherBorrows = this.#borrows.filter(
      ({ license, user, until }) => license === event.license && user !== event.user && now < until,
    );
    const slots = state.licenses.get(event.license)?.terms.slots ?? 0;
    if (otherBorrows.length < slots) return null;
    return `more slots lent than there are (${slots}): ${JSON.stringify([event, ...otherBorrows])}`;
  }

  #record(event: Event, state: State, isClockRight: boolean): void {
    if (event.type === "LicenseRemoved") this.#forget(event.license, null);
    if (event.type === "SlotTaken") this.#slots.add(event.slot);
    if (event.type === "SlotReleased") {
      const allowsEarlyReturn = state.licenses.get(event.license)?.terms.earlyReturn ?? true;
      if (allowsEarlyReturn) this.#forget(event.license, event.user);
    }
    if (event.type === "SlotBorrowed") {
      this.#slots.add(event.slot);
      if (isClockRight || event.early) this.#forget(event.license, event.user);
      const { license, user, until } = event;
      if (isClockRight) this.#borrows.push({ license, user, until });
    }
  }

  #forget(license: number, user: string | null): void {
    this.#borrows = this.#borrows.filter(
      (borrow) => borrow.license !== license || (user !== null && borrow.user !== user),
    );
  }
}
