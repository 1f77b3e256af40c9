import { canSetClockFreely, findOpenTimeNonce } from "../domain/clock.ts";
import type { SetClockBack } from "../domain/command.ts";
import type { Fault } from "../domain/fault.ts";
import { err, ok, type Result } from "../domain/result.ts";
import { hasDateOrPeriod } from "../domain/terms.ts";
import { instant, latest, MINUTE, SECOND, type Instant } from "../domain/time.ts";
import { CLOCK_LIMITS, isClockSuspect } from "../domain/timekeeper.ts";
import { encodeTimeCode, verifyTimeDocument } from "../license/time-document.ts";
import type { Vendor } from "../license/trust.ts";
import { wallClock, type ApplianceClock } from "../platform/clock.ts";
import { log } from "../platform/log.ts";
import { randomBytes } from "../platform/random.ts";
import type { StorageFault } from "../store/group-commit.ts";
import type { Store } from "../store/store.ts";
import type { Identity } from "./identity.ts";
import type { LicenseFileFault } from "./licensing.ts";
import { checkDocumentKind } from "./document-kind-check.ts";

export type ClockResult<T> = Promise<Result<T, Fault | StorageFault | LicenseFileFault>>;

export interface ClockView {
  readonly now: Instant;
  readonly systemTime: Instant;
  /**
   * ok; behind: the system's clock is; suspect: so far that slots with an end are not lent anew.
   */
  readonly state: "ok" | "behind" | "suspect" | "ahead";
}

/** Keeps the record's time going, and knows the ways out when the clock is wrong. */
export class Timekeeping {
  readonly #store: Store;
  readonly #clock: ApplianceClock;
  readonly #identity: Identity;
  readonly #ticking: Timer;

  constructor(store: Store, clock: ApplianceClock, identity: Identity) {
    this.#store = store;
    this.#clock = clock;
    this.#identity = identity;
    this.#ticking = setInterval(() => void this.tick(), MINUTE);
    this.#ticking.unref();
  }

  stop(): void {
    clearInterval(this.#ticking);
  }

  /** Marks the time when nothing else did, and follows the clock back while nobody gains by it. */
  async tick(): Promise<void> {
    const wall = wallClock();
    const { mark, free } = this.#store.peek((state) => ({
      mark: state.latestEventAt,
      free: canSetClockFreely(state),
    }));
    const here = this.view().now;
    if (free && here - wall > MINUTE) await this.#goBack(wall, null, "clock");
    else if (here - mark >= CLOCK_LIMITS.markInterval || this.#hasJumped()) {
      await this.#store.transact({ type: "MarkClock" }, () => null);
    }
    const { state, now } = this.view();
    if (state !== "ok")
      log.warn("system clock differs from appliance time", { state, now, system_time: wall });
  }

  /** A jump is put on record soon, with whatever is written next. */
  #hasJumped(): boolean {
    const newest = this.#clock.jumps().at(-1)?.to ?? 0;
    return this.#store.peek(({ clockJumps }) => (clockJumps.at(-1)?.to ?? 0) < newest);
  }

  view(): ClockView {
    const wall = wallClock();
    const now = this.#store.peek(({ latestEventAt, clockJumps }) =>
      this.#clock.now(latestEventAt, clockJumps),
    );
    const waiting = this.#clock.aheadForMs !== null;
    const behind = now - wall >= CLOCK_LIMITS.behindWarning ? "behind" : "ok";
    return {
      now,
      systemTime: wall,
      state: isClockSuspect(now - wall) ? "suspect" : waiting ? "ahead" : behind,
    };
  }

  /** A code to read out: the vendor answers it with the time. */
  async requestTimeCode(peer: string): ClockResult<string> {
    // Looking again must not void the code that was just read out.
    const open = await this.#store.read(findOpenTimeNonce);
    if (!open.ok) return open;
    if (open.value !== null) return ok(encodeTimeCode(this.#identity.id, open.value));
    const nonce = randomBytes(5);
    return this.#store.transact({ type: "AskClock", nonce, peer }, () =>
      encodeTimeCode(this.#identity.id, nonce),
    );
  }

  /** An operator says that the system's clock, which is far ahead, is right. */
  async acceptSystemClock(): ClockResult<ClockView> {
    this.#clock.accept();
    const marked = await this.#store.transact({ type: "MarkClock" }, () => null);
    return marked.ok ? ok(this.view()) : marked;
  }

  /** The vendor's time, in answer to the newest code. */
  async applyTimeDocument(document: string, peer: string): ClockResult<ClockView> {
    const known = await this.#store.read((state, at) => ({
      vendors: [...state.vendors.values()] as Vendor[],
      at,
      nonce: findOpenTimeNonce(state, at),
      dated: [...state.licenses.values()].filter(({ terms }) => hasDateOrPeriod(terms)),
    }));
    if (!known.ok) return known;
    const misplaced = checkDocumentKind(document.trim(), "time");
    if (misplaced !== null) return err(misplaced);
    const verified = await verifyTimeDocument(document.trim(), known.value.vendors, known.value.at);
    if (!verified.ok) return err({ code: "invalid_license_file", reason: verified.fault });
    const { appliance, nonce, iat, iss } = verified.value;
    // A vendor's word moves what that vendor signed, and nothing of anybody else's.
    if (known.value.dated.some(({ grant }) => grant.vendor !== iss)) {
      return err({
        code: "invalid_license_file",
        reason: "is not from the vendor of every license",
      });
    }
    if (appliance !== this.#identity.id || nonce !== known.value.nonce) {
      return err({ code: "invalid_license_file", reason: "answers another code" });
    }
    // The vendor signed some time ago. It is later by now, as late as the system's clock says if
    // that was put right: going back further would end by mistake what is granted today.
    const to = latest(instant(iat * SECOND), wallClock());
    const vendor = known.value.vendors.find((one) => one.vendor === iss);
    const signed = { vendor: iss, checkedVersion: vendor?.version ?? null };
    const back = await this.#goBack(to, nonce, peer, signed);
    return back.ok ? ok(this.view()) : back;
  }

  async #goBack(
    to: Instant,
    nonce: string | null,
    peer: string,
    signed: Pick<SetClockBack, "vendor" | "checkedVersion"> = {},
  ): Promise<Result<null, Fault | StorageFault>> {
    const back = { type: "SetClockBack" as const, to, nonce, peer, ...signed };
    const done = await this.#store.transact(back, (state) => {
      // From what is on record now, which is `to` or, where that was not earlier, as it was.
      this.#clock.setTo(state.latestEventAt);
      return null;
    });
    if (done.ok) log.warn("appliance time set back", { to });
    return done;
  }
}
