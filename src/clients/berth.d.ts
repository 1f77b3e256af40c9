/**
 * The client of Berth, a floating license server, for Node.js 18 or later, Bun, Deno 2 and
 * browsers.
 *
 * ```js
 * import { Client } from "./berth.js";
 *
 * const client = new Client(["http://license-1:8080", "http://license-2:8080"], "CAD");
 * const slot = await client.acquire("ada#ws-17", { wait: 60, onLoss: () => saveAndStop() });
 * // Work. The slot is renewed in the background.
 * await client.close();
 * ```
 *
 * Every time is a text in RFC 3339, for example `2026-11-23T17:00:00.000Z`. Every duration of an
 * option is in seconds.
 */

declare global {
  interface SymbolConstructor {
    /** For compilers without `esnext.disposable`; with it, this declares the same again. */
    readonly asyncDispose: unique symbol;
  }
}

/** A public key of Ed25519 as a JSON Web Key. Other members are ignored. */
export interface PublicKey {
  readonly kty: string;
  readonly crv?: string;
  /** 43 characters of base64url. */
  readonly x?: string;
}

export interface ClientOptions {
  /**
   * The certificate authority of the server's certificate: the path of a PEM file, or PEM text.
   * Then no other one is trusted. Not in a browser.
   */
  readonly ca?: string | null | undefined;
  /**
   * The client's certificate and its key, for a server with `client_auth = "mtls"`: the path of a
   * PEM file, or PEM text. Not in a browser.
   */
  readonly certificate?: string | null | undefined;
  /** For a server with `client_auth = "login"`. The client logs in by itself. */
  readonly login?: { readonly name: string; readonly password: string } | null | undefined;
  /**
   * Whether the password of `login` may be sent to another machine without TLS, where others can
   * read it. Default: false.
   */
  readonly allowPlainPassword?: boolean | undefined;
  /** Limits one HTTP exchange, from the connection to the last byte. Default: 15. */
  readonly timeout?: number | undefined;
  /**
   * How long a call is repeated while no server gives a final answer. Every server is called at
   * least once. Default: 10 with one server, and 30 with several, for a takeover in a pair.
   */
  readonly retryFor?: number | null | undefined;
  /**
   * Names this device in leases: 16 to 128 letters, digits, or `.` `_` `~` `-`. Default: a hash of
   * the machine id; in a browser a random value that is kept in `localStorage`.
   */
  readonly nonce?: string | null | undefined;
  /**
   * The vendor's public root key for `verify`, as `x` of 43 characters, or a list of keys, each one
   * as `x` or as a JWK.
   */
  readonly rootKeys?: string | readonly (string | PublicKey)[] | undefined;
  /**
   * Issuing keys of the vendor whose licenses `verify` refuses, in the same forms: keys that were
   * stolen.
   */
  readonly retired?: string | readonly (string | PublicKey)[] | undefined;
}

export interface AcquireOptions {
  /** How long to wait in the queue if all slots are taken. Default: 0. */
  readonly wait?: number | undefined;
  /** Only a slot of this license. */
  readonly licenseId?: number | null | undefined;
  /** A text that the operator sees. */
  readonly userInfo?: string | undefined;
  /**
   * Called once if the slot is lost: the server refused to renew it, or was unreachable until the
   * slot's end. The program must then stop using the license, or acquire a slot again. The message
   * of the error begins `the slot of USER is lost:`, then says why. Not called after a release.
   * An error that it throws is written with `console.error`.
   */
  readonly onLoss?: ((slot: Slot, error: BerthError) => unknown) | null | undefined;
  /** Called with the place in the queue (1: the next user) and the length of the queue. */
  readonly onWait?: ((position: number, length: number) => unknown) | null | undefined;
  /** Cancels the call, which then rejects with the signal's reason and leaves the queue. */
  readonly signal?: AbortSignal | null | undefined;
}

export interface FeatureOptions {
  /** As for a slot. Not called if the slot itself is lost or released. */
  readonly onLoss?: ((feature: Feature, error: BerthError) => unknown) | null | undefined;
}

export interface BorrowOptions {
  /** The end of the borrow, for example `2026-11-23T18:00:00+01:00`. The server checks it. */
  readonly until: Date | string;
  /** Only a slot of this license. */
  readonly licenseId?: number | null | undefined;
  /** The idempotency key of an earlier call that is repeated. Default: a new one. */
  readonly key?: string | null | undefined;
}

export interface ConsumeOptions {
  /** The code of a feature, to count for it instead of for the license. */
  readonly feature?: string | null | undefined;
  /** A user: the license of this user's slot counts. */
  readonly user?: string | null | undefined;
  /** The idempotency key of an earlier call that is repeated. Default: a new one. */
  readonly key?: string | null | undefined;
  /** Counts for this license. */
  readonly licenseId?: number | null | undefined;
  /** A lower limit of overages than that of the license. */
  readonly maxOverages?: number | null | undefined;
  /** `false`: no overages, even if the license allows them. */
  readonly allowOverages?: boolean | null | undefined;
}

/** A borrowed slot. Keep `lease` and `license`: `verify` needs both, without a server. */
export interface Borrow {
  readonly user: string;
  readonly licenseId: number;
  readonly borrowedUntil: string;
  /** Null only if `key` repeats a borrow that was returned since. */
  readonly lease: string | null;
  /** The license as the vendor signed it; for a license by code, a JSON text. */
  readonly license: string;
}

export interface Consumption {
  /** Counted since the last reset, with this call. */
  readonly total: number;
  /** Null: there is no maximum. */
  readonly maximum: number | null;
  /** The idempotency key of the call. */
  readonly key: string;
  readonly licenseId: number;
}

/** A lease that is valid now, on this device. */
export interface Lease {
  readonly user: string;
  readonly licenseId: number;
  /** The end of the lease in UTC, for example `2026-11-23T17:00:00Z`. */
  readonly expiresAt: string;
  readonly product: string;
  /** The serial of the license. */
  readonly serial: number;
}

/** The license object of the API. `src/http/README.md` describes its members. */
export interface License {
  readonly id: number;
  readonly [name: string]: unknown;
}

/**
 * One license server, or the hosts of one pair. The first final answer determines which server it
 * is: another one at one of the addresses is never used. No proxy of the environment is used.
 *
 * All calls may run at the same time. They reject with a subclass of `BerthError`.
 */
export class Client {
  /**
   * Makes no call to a server.
   *
   * @param urls the addresses, for example `https://license-1:8443`: a list, or a text with commas
   *   between them. In a browser: the address of the server that the page was loaded from.
   * @param product the code of the product
   * @throws {InvalidArgumentError} for a wrong argument. Before Node.js 20.16, a file of `ca` or
   *   `certificate` that cannot be read may be reported by the first call instead.
   */
  constructor(urls: string | readonly string[], product: string, options?: ClientOptions);

  /**
   * Takes a slot. It is renewed in the background until it is released, and is also released when:
   *
   * - the client is closed;
   * - the program no longer refers to the `Slot`, and its memory is reclaimed: keep the object;
   * - the event loop of Node.js, Bun or Deno becomes empty, or the page is left.
   *
   * After `process.exit()`, a signal or a crash, the slot ends by its time-out. The same user twice
   * in one client shares a slot, which is released with the last of the objects.
   *
   * @throws {NoFreeSlotError} if all slots are taken, also after the wait
   */
  acquire(user: string, options?: AcquireOptions): Promise<Slot>;

  /**
   * Takes a slot until a date, without renewals, and the lease that proves it offline.
   *
   * If it rejects with `UnavailableError`, the slot may be borrowed: repeat the call with `key` of
   * the error.
   */
  borrow(user: string, options: BorrowOptions): Promise<Borrow>;

  /** Releases a user's slots by name, and returns a borrow. Fulfils if there are none. */
  release(user: string): Promise<void>;

  /**
   * Counts `n`, all or nothing; once, however often it is repeated. `n` may be 0, to read the
   * total, or negative where the license allows it.
   *
   * If it rejects with `UnavailableError`, it may have been counted: repeat the call with `key` of
   * the error.
   */
  consume(n?: number, options?: ConsumeOptions): Promise<Consumption>;

  /**
   * Checks a lease on this device. Makes no call to a server.
   *
   * @throws {LeaseRefusedError} with the reason as `code`; `verify_unavailable`: this runtime
   *   cannot check Ed25519 signatures (Node.js before 18.4, old browsers), or the page was not
   *   loaded by https.
   */
  verify(lease: string, license: string): Promise<Lease>;

  /** The nonce that names this device in leases: the option `nonce`, or its default. */
  nonce(): Promise<string>;

  /**
   * Ends waiting calls of `acquire`, waits for other calls, and releases all slots, but no borrows.
   * Later calls reject with `InvalidArgumentError` and the code `client_closed`.
   */
  close(): Promise<void>;

  /** Closes the client at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** A slot that `acquire` took. */
export class Slot {
  private constructor();

  readonly user: string;
  /** The license that the slot belongs to. */
  readonly licenseId: number;
  /** Since when the user has had the slot without a gap. */
  readonly registeredAt: string;
  /** The end of the slot or of its borrow by the server's clock, unless it is renewed. */
  readonly expiresAt: string;
  /**
   * False as soon as the slot's end has passed, and after a release or a loss. After a sleep past
   * the end it is true until the first renewal: only if that fails, the slot is lost.
   */
  readonly isHeld: boolean;
  /** A borrow survives the release of the slot; `client.release(user)` returns it. */
  readonly isBorrowed: boolean;
  readonly license: License;

  /**
   * Takes a slot of a floating feature, which is renewed like the slot and ends with it.
   *
   * @throws {NoFreeSlotError} if all slots of the feature are taken
   */
  acquireFeature(code: string, options?: FeatureOptions): Promise<Feature>;

  /**
   * Releases the slot. Can be repeated, and does not reject.
   *
   * @returns whether the server confirmed it, or nothing was left to release. Otherwise the slot
   *   ends by its time-out.
   */
  release(): Promise<boolean>;

  /** Releases the slot at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** A slot of a floating feature. */
export class Feature {
  private constructor();

  readonly code: string;
  /** False as soon as its end or that of the slot has passed, and after a release or a loss. */
  readonly isHeld: boolean;

  /** As `release` of a slot. */
  release(): Promise<boolean>;

  /** Releases the feature at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Why a call failed. `message` is a sentence that can be shown to the user. */
export class BerthError extends Error {
  protected constructor();

  /** Names the reason, for example `license_expired`. Act on this, not on `message`. */
  readonly code: string;
  /** The HTTP status of the reply; null if there was none. */
  readonly status: number | null;
  /** Names the request in the server's log, or null. */
  readonly requestId: string | null;
  /** The idempotency key of a call of `borrow` or `consume` that can be repeated, or null. */
  readonly key: string | null;
}

/** All slots are taken, or the user has as many as the site allows. */
export class NoFreeSlotError extends BerthError {
  /** The place in the queue, or null. */
  readonly position: number | null;
}

/** The server does not accept the caller: status 401 or 403. */
export class AccessDeniedError extends BerthError {}

/** The server refused the call for another reason. Repeating it does not help. */
export class RefusedError extends BerthError {}

/**
 * No server gave a final answer in time. `code` is that of the last reply of a server, for example
 * `storage_full`, or `unreachable`.
 */
export class UnavailableError extends BerthError {}

/**
 * No server can be used by TLS (`tls_failed`): the message names the fault of the certificate or of
 * the address. The call was not repeated.
 */
export class TlsFailedError extends BerthError {}

/** An address leads to another license server than the one that answered first. */
export class OtherApplianceError extends BerthError {}

/** A lease is not valid, on this device and now. */
export class LeaseRefusedError extends BerthError {}

/** A wrong argument, or a closed client (`client_closed`). No call was made. */
export class InvalidArgumentError extends BerthError {}
