import {
  canSetClockFreely,
  findOpenTimeNonce,
  type SetClockBack,
} from "../../domain/clock/clock.ts";
import type { Fault } from "../../domain/model/fault.ts";
import type { LicenseFileFault } from "../../faults/fault-types.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { hasDateOrPeriod } from "../../domain/model/licenses/terms.ts";
import { instant, latest, MINUTE, SECOND, type Instant } from "../../domain/time.ts";
import { CLOCK_LIMITS, isClockSuspect } from "../../domain/clock/timekeeper.ts";
import { encodeTimeCode, verifyTimeDocument } from "../../license/documents/time-document.ts";
import { findKeyFault } from "../../domain/trust/trust.ts";
import { signingKeyOf } from "../../license/documents/trust.ts";
import { wallClock, type ApplianceClock } from "../../platform/clock.ts";
import { log } from "../../platform/log.ts";
import { randomBytes } from "../../platform/crypto/random.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import type { Store } from "../../store/store.ts";
import type { Identity } from "../appliance/identity.ts";

export type ClockResult<T> = Promise<Result<T, Fault | StorageFault | LicenseFileFault>>;

export interface ClockView {
  readonly now: Instant;
  readonly systemTime: Instant;
  /**
   * The system clock, compared with appliance time. suspect: so far behind that licenses with an
   * end lend no new slots. ahead: so far ahead that it is not followed yet.
   */
  readonly state: "ok" | "behind" | "suspect" | "ahead";
}

/** Writes time marks to the audit log, and corrects appliance time when the clock was wrong. */
export class Timekeeping {
  readonly #store: Store;
  readonly #clock: ApplianceClock;
  readonly #identity: Identity;
  readonly #tickTimer: Timer;

  constructor(store: Store, clock: ApplianceClock, identity: Identity) {
    this.#store = store;
    this.#clock = clock;
    this.#identity = identity;
    this.#tickTimer = setInterval(() => void this.tick(), MINUTE);
    this.#tickTimer.unref();
  }

  stop(): void {
    clearInterval(this.#tickTimer);
  }

  /**
   * Writes a time mark if no other event did. Follows the system clock back until the first slot or
   * count of a time-dependent license is granted.
   */
  async tick(): Promise<void> {
    // The host that leads keeps the time.
    if (this.#store.status().fault?.code === "standby") return;
    const systemTime = wallClock();
    const { lastEventAt, canGoBack } = this.#store.peek((state) => ({
      lastEventAt: state.latestEventAt,
      canGoBack: canSetClockFreely(state),
    }));
    const applianceTime = this.view().now;
    if (canGoBack && applianceTime - systemTime > MINUTE)
      await this.#setBack(systemTime, null, "clock");
    else if (applianceTime - lastEventAt >= CLOCK_LIMITS.markInterval || this.#hasJumped()) {
      await this.#store.transact({ type: "MarkClock" }, () => null);
    }
    const { state, now } = this.view();
    if (state !== "ok")
      log.warn("system clock differs from appliance time", { state, now, system_time: systemTime });
  }

  /** Whether the clock jumped and no event has written the jump yet. */
  #hasJumped(): boolean {
    const newest = this.#clock.jumps().at(-1)?.to ?? 0;
    return this.#store.peek(({ clockJumps }) => (clockJumps.at(-1)?.to ?? 0) < newest);
  }

  view(): ClockView {
    const systemTime = wallClock();
    const now = this.#store.peek(({ latestEventAt, clockJumps }) =>
      this.#clock.now(latestEventAt, clockJumps),
    );
    const isAhead = this.#clock.aheadForMs !== null;
    const behindState = now - systemTime >= CLOCK_LIMITS.behindWarning ? "behind" : "ok";
    return {
      now,
      systemTime,
      state: isClockSuspect(now - systemTime) ? "suspect" : isAhead ? "ahead" : behindState,
    };
  }

  /** A code to read out to the vendor, who answers with a time document. */
  async requestTimeCode(peer: string): ClockResult<string> {
    // A second request must not invalidate the code that was just read out.
    const openNonce = await this.#store.read((state, { at }) => findOpenTimeNonce(state, at));
    if (!openNonce.ok) return openNonce;
    if (openNonce.value !== null) return ok(encodeTimeCode(this.#identity.id, openNonce.value));
    const nonce = randomBytes(5);
    return this.#store.transact({ type: "AskClock", nonce, peer }, () =>
      encodeTimeCode(this.#identity.id, nonce),
    );
  }

  /** An operator confirms that the system clock, which is far ahead, is right. */
  async acceptSystemClock(): ClockResult<ClockView> {
    this.#clock.accept();
    const marked = await this.#store.transact({ type: "MarkClock" }, () => null);
    return marked.ok ? ok(this.view()) : marked;
  }

  /** Sets appliance time back with the vendor's answer to the newest code. */
  async applyTimeDocument(document: string, peer: string): ClockResult<ClockView> {
    const snapshot = await this.#store.read((state, { at }) => ({
      vendors: [...state.vendors.values()],
      nonce: findOpenTimeNonce(state, at),
      dated: [...state.licenses.values()].filter(({ terms }) => hasDateOrPeriod(terms)),
    }));
    if (!snapshot.ok) return snapshot;
    const { vendors, dated } = snapshot.value;
    const verified = await verifyTimeDocument(document.trim(), vendors);
    if (!verified.ok) {
      return verified.fault.wrong === "signer"
        ? err({ code: "untrusted_vendor" })
        : err({ code: "invalid_license_file", problem: verified.fault });
    }
    const { appliance, nonce, iat, iss } = verified.value.time;
    const signed = { by: signingKeyOf(verified.value.signer), at: instant(iat * SECOND) };
    const keyFault = await this.#store.read((state) => findKeyFault(state, signed.by, signed.at));
    if (!keyFault.ok) return keyFault;
    if (keyFault.value !== null) return err(keyFault.value);
    // A vendor may set the time back only if it signed all licenses that depend on the time.
    if (dated.some(({ grant }) => grant.vendor !== iss)) {
      return err({ code: "invalid_license_file", problem: { wrong: "other_vendor" } });
    }
    if (appliance !== this.#identity.id || nonce !== snapshot.value.nonce) {
      return err({ code: "invalid_license_file", problem: { wrong: "other_code" } });
    }
    // The vendor signed some time ago. The system clock, if it was corrected, is later: going back
    // further than that would end by mistake what is granted today.
    const to = latest(signed.at, wallClock());
    const result = await this.#setBack(to, nonce, peer, signed);
    return result.ok ? ok(this.view()) : result;
  }

  async #setBack(
    to: Instant,
    nonce: string | null,
    peer: string,
    signed: SetClockBack["signed"] | null = null,
  ): Promise<Result<null, Fault | StorageFault>> {
    const command = { type: "SetClockBack" as const, to, nonce, peer, ...(signed && { signed }) };
    const result = await this.#store.transact(command, (state) => {
      // The newest event is now at `to`, or unchanged if that was not earlier.
      this.#clock.setTo(state.latestEventAt);
      return null;
    });
    if (result.ok) log.warn("appliance time set back", { to });
    return result;
  }
}
