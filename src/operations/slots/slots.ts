import { fingerprintPartsOf } from "../../domain/model/slots/contact.ts";
import type { OutcomeOf } from "../../domain/decide.ts";
import type { Fault } from "../../domain/model/fault.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import type { RuleContext } from "../../domain/model/rule-context.ts";
import { factsOf } from "../../domain/model/rules/caller-facts.ts";
import { findLongestBorrow } from "../../domain/rules/judge-borrow.ts";
import type { Borrow } from "../../domain/slots/borrow.ts";
import { computeLeaseEnd } from "../../domain/slots/leases.ts";
import type { Register } from "../../domain/slots/register.ts";
import { findHeldSlot } from "../../domain/model/slots/pool.ts";
import type { SlotOutcome } from "../../domain/slots/slots.ts";
import type { TakePlace } from "../../domain/queue/dispatch/take-place.ts";
import type { ReleasedSlots, Unregister, UnregisterAll } from "../../domain/slots/unregister.ts";
import type { State } from "../../domain/model/state.ts";
import type { Instant } from "../../domain/time.ts";
import {
  listRegistrations,
  viewLicense,
  viewRegistrations,
  type LicenseView,
  type PageRange,
  type RegistrationView,
} from "../../domain/views/views.ts";
import type { Lease } from "../../license/documents/lease.ts";
import { sha256 } from "../../platform/crypto/hash.ts";
import { beginStep, runBetweenRequests } from "../../platform/schedule/yield-to-requests.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import type { Store } from "../../store/store.ts";
import {
  buildIdempotency,
  flattenResult,
  passOutcome,
  type CommandResult,
  type CommandRunner,
  type OperationInput,
  type OperationResult,
} from "../command-runner.ts";
import { getDecidedLicense } from "../licenses/decided-license.ts";
import type { Patience, SlotQueue, WaitedResult } from "../queue/slot-queue.ts";
import { SlotChangeReader, type ChangesSince, type ListCursor } from "./slot-changes.ts";

export interface SlotResult extends SlotOutcome {
  readonly at: Instant;
  readonly view: LicenseView;
  /** False for a repeat whose slot was released since: another user may hold it now. */
  readonly isHeld: boolean;
  /** Of the pair that this host leads; null: it serves alone. */
  readonly epoch: number | null;
  readonly lease: string | null;
}

export interface BorrowResult extends SlotResult {
  /** The longest borrow that the license and the rules allow. */
  readonly maxHours: number | null;
}

/** The application's nonce, which its lease repeats; null: none was sent. */
interface WithNonce {
  readonly nonce: string | null;
}

/** So many are decided in a millisecond or two; heartbeats wait no longer than that. */
const RELEASES_PER_STEP = 50;

/** A command releases a few slots: how long it takes depends on the features of their users. */
const RELEASE_WORK_PER_COMMAND = 100;

export interface AllReleased {
  readonly released: number;
  /** Slots that stay in use: borrowed ones that their licenses do not allow to release. */
  readonly remaining: number;
}

/** A release of all slots that could not be completed. */
export interface IncompleteRelease {
  readonly cause: Fault | StorageFault;
  /** So many slots were released before. */
  readonly released: number;
}

export type LeaseSigner = (lease: Lease) => Promise<string>;

/** Takes, borrows, releases and lists slots. */
export class Slots {
  readonly #commands: CommandRunner;
  readonly #store: Store;
  readonly #signer: LeaseSigner;
  readonly #queue: SlotQueue;
  readonly #changes = new SlotChangeReader();

  constructor(commands: CommandRunner, store: Store, queue: SlotQueue, signer: LeaseSigner) {
    this.#commands = commands;
    this.#store = store;
    this.#queue = queue;
    this.#signer = signer;
  }

  /**
   * With a nonce, the result contains a signed lease. Without one it does not: signing every
   * heartbeat would halve the throughput.
   */
  register(input: OperationInput<Register> & WithNonce): OperationResult<SlotResult> {
    const { contact, nonce } = input;
    const command = makeRegister(input);
    const pendingSlot = this.#queue.runClaim(input.product, () =>
      this.#commands.runCommand(command, contact.peer, this.#viewSlot),
    );
    return nonce === null ? pendingSlot : this.#withLease(pendingSlot, nonce);
  }

  /** Like `register`, but waits for a slot if none may be granted now. */
  registerWaiting(
    input: OperationInput<Register> & WithNonce,
    patience: Patience,
  ): Promise<WaitedResult<SlotResult>> {
    const { product, user, licenseId, contact, identity, nonce } = input;
    const command = makeRegister(input);
    const { user: _user, ...facts } = factsOf(user ?? "", contact, identity);
    const { peer } = contact;
    const place: TakePlace = { type: "TakePlace", product, user, licenseId, facts, peer };
    const claim = { command, view: this.#viewSlot, place };
    const waiting = this.#queue.claimSlot(claim, patience);
    if (nonce === null) return waiting;
    return waiting.then(async ({ result, place }) => ({
      result: await this.#withLease(Promise.resolve(result), nonce),
      place,
    }));
  }

  /** A borrow always gets a lease, because the application needs it while it is offline. */
  borrow(input: OperationInput<Borrow> & WithNonce): OperationResult<BorrowResult> {
    const { idempotencyKey = null, nonce, ...fields } = input;
    const { licenseId, until, contact } = fields;
    const nonceDigest = hashNonce(nonce);
    const deviceParts = nonceDigest === null ? [] : [nonceDigest];
    const once = buildIdempotency(idempotencyKey, [
      licenseId,
      until,
      ...fingerprintPartsOf(contact),
      ...deviceParts,
    ]);
    const command: Borrow = { type: "Borrow", ...fields, nonceDigest, once };
    const pendingSlot = this.#queue.runClaim(fields.product, () =>
      this.#commands.runCommand(command, contact.peer, (state, outcome, context) => ({
        ...this.#viewSlot(state, outcome, context),
        maxHours: findLongestBorrow(state, getDecidedLicense(state, outcome.license), context.at),
      })),
    );
    return this.#withLease(pendingSlot, nonce);
  }

  unregister(input: OperationInput<Unregister>): OperationResult<OutcomeOf<Unregister>> {
    const payer = input.by === "user" ? input.peer : null;
    return this.#commands.runCommand({ type: "Unregister", ...input }, payer, passOutcome);
  }

  /**
   * Releases the slots that are in use when it begins, in steps between which other requests are
   * served. The next step begins when the one before is on disk.
   */
  async unregisterAll(
    input: Omit<OperationInput<UnregisterAll>, "range">,
  ): Promise<Result<AllReleased, IncompleteRelease>> {
    const until = this.#store.peek(({ nextSlot }) => nextSlot - 1);
    let [released, remaining] = [0, 0];
    for (let after: number | null = 0; after !== null;) {
      const first: number = after;
      const { step } = await runBetweenRequests(() => ({
        step: this.#releaseForOneStep(input, first, until),
      }));
      for (const result of await step) {
        if (!result.ok) return err({ cause: result.fault, released });
        released += result.value.released;
        remaining += result.value.remaining;
        after = result.value.next;
      }
    }
    return ok({ released, remaining });
  }

  /** Releases the slots of several users; each has a result of its own, in their order. */
  async unregisterUsers(
    users: readonly string[],
    input: Omit<OperationInput<Unregister>, "user">,
  ): Promise<readonly Awaited<OperationResult<OutcomeOf<Unregister>>>[]> {
    const results: OperationResult<OutcomeOf<Unregister>>[] = [];
    for (let first = 0; first < users.length; first += RELEASES_PER_STEP) {
      const some = users.slice(first, first + RELEASES_PER_STEP);
      // Started together, so that they share a sync of the disk.
      await runBetweenRequests(() => {
        for (const user of some) results.push(this.unregister({ ...input, user }));
      });
    }
    return Promise.all(results);
  }

  /** What changed in the list since it was read; without a cursor, where to begin. */
  listChanges(since: ListCursor | null): Promise<Result<ChangesSince, StorageFault>> {
    return this.#store.read((state, { at }) => this.#changes.read(state, since, at));
  }

  /**
   * All slots in use in slot order, in steps between which other requests are served. Each step
   * shows the state at its time. Slots that are taken meanwhile are left out: a user who releases a
   * slot and takes another one is in the list once. `convert` is part of the step.
   */
  async *listInSteps<T>(
    product: string | null,
    convert: (registration: RegistrationView) => T,
  ): AsyncGenerator<CommandResult<readonly T[]>, void> {
    let rest: SlotRange | null = null;
    do {
      const range: SlotRange | null = rest;
      // Not waited for within the step: the disk must not hold up the steps of others.
      const { reading } = await runBetweenRequests(() => ({
        reading: this.#store.read((state, { at }): Result<ListStep<T>, Fault> => {
          if (range === null && product !== null && !state.products.has(product))
            return err({ code: "unknown_product" });
          return ok(makeListStep(state, product, at, range ?? allSlots(state), convert));
        }),
      }));
      const step: CommandResult<ListStep<T>> = flattenResult(await reading);
      yield step.ok ? ok(step.value.items) : step;
      rest = step.ok ? step.value.rest : null;
    } while (rest !== null);
  }

  async listRegistrations(
    product: string | null,
    page?: PageRange,
  ): OperationResult<RegistrationView[]> {
    return flattenResult(
      await this.#store.read((state, { at }): Result<RegistrationView[], Fault> => {
        if (product !== null && !state.products.has(product))
          return err({ code: "unknown_product" });
        return ok(viewRegistrations(state, product, at, page));
      }),
    );
  }

  /** Decides commands until the step is over; their results follow together. */
  #releaseForOneStep(
    input: Omit<OperationInput<UnregisterAll>, "range">,
    first: number,
    until: number,
  ): Promise<readonly CommandResult<ReleasedSlots>[]> {
    const isOver = beginStep();
    const results: OperationResult<ReleasedSlots>[] = [];
    for (let after: number | null = first; after !== null;) {
      const range = { after, until, limit: RELEASE_WORK_PER_COMMAND };
      // Null: that was the last one, or it is refused, or decided later.
      let next: number | null = null;
      const command: UnregisterAll = { type: "UnregisterAll", ...input, range };
      const result = this.#commands.runCommand(command, null, (_state, outcome) => {
        ({ next } = outcome);
        return outcome;
      });
      results.push(result);
      after = isOver() ? null : next;
    }
    return Promise.all(results);
  }

  readonly #viewSlot = (state: State, outcome: SlotOutcome, context: RuleContext): SlotResult => {
    const { at } = context;
    const license = getDecidedLicense(state, outcome.license);
    const isHeld = findHeldSlot(license.pool, outcome.user, at)?.slot === outcome.slot;
    const view = viewLicense(state, license, context);
    const epoch = state.pair?.epoch ?? null;
    return { ...outcome, view, at, isHeld, epoch, lease: null };
  };

  async #withLease<S extends SlotResult>(
    pendingSlot: OperationResult<S>,
    nonce: string | null,
  ): OperationResult<S> {
    const slot = await pendingSlot;
    if (!slot.ok || !slot.value.isHeld) return slot;
    const lease = await this.#signer(buildLease(slot.value, nonce));
    return ok({ ...slot.value, lease });
  }
}

/** The slots after one slot number and up to another. */
interface SlotRange {
  readonly after: number;
  readonly until: number;
}

interface ListStep<T> {
  readonly items: readonly T[];
  /** Null: this was the last step. */
  readonly rest: SlotRange | null;
}

/** Slots that are taken later have higher numbers. */
const allSlots = ({ nextSlot }: State): SlotRange => ({ after: 0, until: nextSlot - 1 });

function makeListStep<T>(
  state: State,
  product: string | null,
  at: Instant,
  { after, until }: SlotRange,
  convert: (registration: RegistrationView) => T,
): ListStep<T> {
  const isOver = beginStep();
  const items: T[] = [];
  for (const registration of listRegistrations(state, product, at, after)) {
    if (registration.slot > until) break;
    items.push(convert(registration));
    if (isOver()) return { items, rest: { after: registration.slot, until } };
  }
  return { items, rest: null };
}

function makeRegister(input: OperationInput<Register> & WithNonce): Register {
  const { product, user, licenseId, contact, identity, nonce } = input;
  const nonceDigest = hashNonce(nonce);
  return { type: "Register", product, user, licenseId, contact, identity, nonceDigest };
}

/** The content of a lease, which an application can verify offline. */
function buildLease(slot: SlotResult, nonce: string | null): Lease {
  const {
    user,
    product,
    license,
    slot: number,
    end,
    contact,
    borrowedUntil,
    view,
    at,
    epoch,
  } = slot;
  return {
    user,
    product,
    licenseId: license,
    licenseHash: view.grant.lic,
    serial: view.grant.serial,
    slot: number,
    issuedAt: at,
    expiresAt: computeLeaseEnd(view.terms, end, at),
    hostname: contact.hostname,
    isBorrowed: borrowedUntil !== null,
    nonce,
    epoch,
  };
}

/** The stored form of a device's nonce: it can be recognized, but not used for a lease. */
const hashNonce = (nonce: string | null): string | null => (nonce === null ? null : sha256(nonce));
