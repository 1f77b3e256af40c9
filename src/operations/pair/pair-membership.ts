import type { Fault } from "../../domain/model/fault.ts";
import { findUnservedProducts } from "../../domain/licenses/unserved-products.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import type { AdmissionFault, HandOverFault } from "../../faults/fault-types.ts";
import { isUsableKey } from "../../license/pair-admission.ts";
import {
  fingerprintOfRequest,
  parsePairRequest,
  type PairRequest,
} from "../../license/requests/pair-request.ts";
import { wallClock } from "../../platform/clock.ts";
import { version } from "../../platform/embedded/version.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { FolderRefused } from "../../store/folder/refusal.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import type { Store } from "../../store/store.ts";
import type { Identity } from "../appliance/identity.ts";
import { MAX_SKEW_MS } from "./clock-skew.ts";
import { readPairStatus, type PairSide, type PairStatus } from "./pair-status.ts";

/** A host that was admitted. */
export interface AdmittedHost {
  readonly host: string;
  readonly fingerprint: string;
  readonly hardwareId: string;
}

type MembershipResult<T, F = never> = Promise<Result<T, F | Fault | StorageFault>>;

/** Which hosts serve this appliance. */
export class PairMembership {
  readonly #store: Store;
  readonly #identity: Identity;
  readonly #side: PairSide;

  constructor(store: Store, identity: Identity, side: PairSide) {
    this.#store = store;
    this.#identity = identity;
    this.#side = side;
  }

  /** Null: this host is alone. */
  status(): PairStatus | null {
    return readPairStatus(this.#store, this.#side);
  }

  /** Lets the host that made the request join. Repeating it changes nothing. */
  async admit(text: string, peer: string): MembershipResult<AdmittedHost, AdmissionFault> {
    const log = this.#store.peek(({ pair }) => pair?.log ?? null);
    if (this.#side.leadership === null || log === null) return err({ code: "not_a_pair" });
    const request = parsePairRequest(text);
    if (request === null || !(await isUsableKey(request.public_key))) {
      return err({ code: "invalid_pair_request" });
    }
    const fault = this.#findAdmissionFault(request);
    if (fault !== null) return err(fault);
    const { host } = request;
    const { hardware, hardwareId } = this.#identity.hashHardwareOf(request.hardware);
    // A license names two machines; one that fits both would serve on each of them alone.
    if (this.#identity.isThisMachine(hardware)) return err({ code: "pair_same_machine", host });
    const fingerprint = fingerprintOfRequest(request);
    return this.#store.transact(
      { type: "AdmitHost", log, host, hardware, hardwareId, peer },
      () => ({ host, fingerprint, hardwareId }),
    );
  }

  #findAdmissionFault({ host, version: other, made_at: madeAt }: PairRequest) {
    if (host === this.#side.host) return { code: "pair_host_taken", host } as const;
    if (other !== version) {
      return { code: "pair_version_differs", host, version: other, ownVersion: version } as const;
    }
    // The request cannot be of the future.
    const ahead = madeAt - wallClock();
    if (ahead <= MAX_SKEW_MS) return null;
    return { code: "pair_clock_differs", host, seconds: Math.round(ahead / 1_000) } as const;
  }

  /** Lets the other host lead; resolves when it does. */
  async handOver(): MembershipResult<{ readonly leader: string }, HandOverFault> {
    const { host, leadership } = this.#side;
    if (leadership === null) return err({ code: "not_a_pair" });
    const unserved = await this.#store.read((state, context) => {
      const other = [...(state.pair?.hosts.values() ?? [])].find(({ name }) => name !== host);
      if (other === undefined) return null;
      return { host: other.name, products: findUnservedProducts(state, other, context) };
    });
    if (unserved.ok && unserved.value !== null && unserved.value.products.length > 0)
      return err({ code: "hand_over_refused", reason: "unlicensed", ...unserved.value });
    const handedOver = await leadership.handOver();
    if (handedOver.ok || handedOver.fault.code !== "standby") return handedOver;
    const { leader } = leadership.status();
    return err({ code: "standby", ...(leader !== null && { leader }) });
  }

  /**
   * Ends the pair. This host answers nothing more until it is started without the log: then its
   * own disk decides what it acknowledges. `name` counts where no server runs, if this machine is
   * not known in the pair.
   */
  async leave(peer: string, name: string | null = null): MembershipResult<{ host: string }> {
    const { leadership } = this.#side;
    const { hardware } = this.#identity.hashHardware();
    const host = this.#side.host ?? this.#findThisHost() ?? name ?? "unknown";
    const isWithoutLog = leadership === null;
    const left = await this.#store.transact(
      { type: "LeavePair", host, hardware, isWithoutLog, peer },
      () => null,
    );
    if (!left.ok) return left;
    await leadership?.stop();
    return ok({ host });
  }

  /** The name under which this machine was admitted; null: under none. */
  #findThisHost(): string | null {
    const hosts = this.#store.peek(({ pair }) => [...(pair?.hosts.values() ?? [])]);
    const thisHost = hosts.find(({ hardware }) => this.#identity.isThisMachine(hardware));
    return thisHost?.name ?? null;
  }

  /**
   * For a server without a log: a host of a pair must not answer alone. Called before anything is
   * written, because the journal of a host must stay the beginning of the log.
   */
  async refuseToServeAlone(folder: string): Promise<void> {
    const refusal = this.#findServingRefusal(folder);
    if (refusal === null) return;
    await this.#store.close();
    throw refusal;
  }

  #findServingRefusal(folder: string): FolderRefused | null {
    const { pair, endedPair } = this.#store.peek((state) => state);
    if (pair !== null) {
      const names = [...pair.hosts.keys()].join(" and ");
      return new FolderRefused(
        `${folder} is of a pair (${names}), and pair_log is not set`,
        "set pair_log to the database of the pair, as on the other host; to continue with this host alone: berth pair leave",
      );
    }
    if (endedPair === null || this.#identity.isThisMachine(endedPair.hardware)) return null;
    return new FolderRefused(
      `the pair ended at ${rfc3339(endedPair.at)}: host ${endedPair.host} serves this appliance alone, and this is another host`,
      `run the server on ${endedPair.host}; to form a pair again: berth help guide pair`,
    );
  }
}
