// What has to hold in true time, whatever the clock showed: the one thing a license server is for.
// It is judged by what the rules recorded and show, without the model.
import type { Event } from "../../src/domain/event.ts";
import type { State } from "../../src/domain/state.ts";
import type { Instant } from "../../src/domain/time.ts";
import type { RegistrationView } from "../../src/domain/views.ts";

/** A borrow that was granted while the clock was right: its lease is good until then, in truth. */
interface TrueBorrow {
  readonly license: number;
  readonly user: string;
  readonly until: Instant;
}

export class TrueTimeCheck {
  #borrows: TrueBorrow[] = [];
  readonly #slots = new Set<number>();

  /** What is wrong with what was just recorded at this true instant; null: nothing. */
  checkEvents(
    events: readonly Event[],
    state: State,
    now: Instant,
    isClockRight: boolean,
  ): string | null {
    for (const event of events) {
      const wrong = isClockRight ? this.#judgeGrant(event, state, now) : null;
      if (wrong !== null) return wrong;
      this.#record(event, state, isClockRight);
    }
    return null;
  }

  /** Whom the right clock lent to, that user has it. */
  checkViews(views: readonly RegistrationView[], now: Instant): string | null {
    const lost = this.#borrows.find(
      ({ license, user, until }) =>
        now < until &&
        !views.some(
          (view) =>
            view.license === license && view.user === user && (view.borrowedUntil ?? 0) >= until,
        ),
    );
    return lost === undefined ? null : `a borrow is gone before its end: ${JSON.stringify(lost)}`;
  }

  /** A slot that nobody had before comes out of what is not lent to others. */
  #judgeGrant(event: Event, state: State, now: Instant): string | null {
    if (event.type !== "SlotTaken" && event.type !== "SlotBorrowed") return null;
    if (this.#slots.has(event.slot)) return null;
    const lent = this.#borrows.filter(
      ({ license, user, until }) => license === event.license && user !== event.user && now < until,
    );
    const slots = state.licenses.get(event.license)?.terms.slots ?? 0;
    if (lent.length < slots) return null;
    return `lent once more than there are slots (${slots}): ${JSON.stringify([event, ...lent])}`;
  }

  #record(event: Event, state: State, isClockRight: boolean): void {
    if (event.type === "LicenseRemoved") this.#forget(event.license, null);
    if (event.type === "SlotTaken") this.#slots.add(event.slot);
    if (event.type === "SlotReleased") {
      const takesBack = state.licenses.get(event.license)?.terms.earlyReturn ?? true;
      if (takesBack) this.#forget(event.license, event.user);
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
      (one) => one.license !== license || (user !== null && one.user !== user),
    );
  }
}
