import { SECOND } from "../../domain/time.ts";
import { AUDIENCE_HEADER, COMMAND_LINE_AUDIENCE } from "../../http/faults.ts";
import { messageOfError } from "../../platform/error-message.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import {
  readJson,
  readMember,
  readOutcome,
  undecided,
  type ClaimOutcome,
  type Unanswered,
  type Undecided,
} from "./claim-reply.ts";
import { findTlsFault } from "./tls-fault.ts";
import { APPLIANCE_HEADER } from "../../http/appliance-header.ts";

/** Whether a server confirmed that the slot is free; in a takeover, it is worth another try. */
export type ReleaseOutcome = "released" | "takeover" | "unconfirmed";

export interface ClientOptions {
  readonly servers: readonly string[];
  /** The fields of `register`. */
  readonly fields: Readonly<Record<string, string>>;
  readonly login: { readonly name: string; readonly password: string } | null;
  readonly tls: {
    readonly ca: readonly string[];
    readonly certificate: string | null;
  };
}

/** How long a server may take to answer, besides the time that the request waits. */
const ANSWER_TIME = 15 * SECOND;
/** The same while another server could be tried. */
const FIRST_ANSWER_TIME = 3 * SECOND;
/** So long it may take in any case, also if the time of the caller is over. */
const MIN_ANSWER_TIME = 2 * SECOND;
/** When the slot is given back: the command has ended, and the user waits. */
const RELEASE_ANSWER_TIME = 3 * SECOND;
/** A host of a pair that fails is replaced in less than this. */
export const TAKEOVER_TIME = 30 * SECOND;

interface CallInit extends Omit<RequestInit, "headers"> {
  readonly headers: Readonly<Record<string, string>>;
}

/** Calls the first server that answers, and stays with it as long as it does. */
export class LicenseClient {
  readonly #options: ClientOptions;
  readonly #tokens = new Map<string, string>();
  readonly #pin = new AppliancePin();
  #current = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /**
   * Takes a slot, or renews it. `wait` is sent as `Prefer`, in seconds; null: not sent. The caller
   * has time until `deadline`, by `performance.now()`.
   */
  async register(
    wait: number | null,
    signal: AbortSignal,
    deadline = Infinity,
  ): Promise<ClaimOutcome> {
    const undecidedServers = new Map<string, Undecided>();
    const all = this.#serversInTurn();
    // A server that is slow is asked again with more time, when no other one could decide.
    for (const answerTime of all.length > 1 ? [FIRST_ANSWER_TIME, ANSWER_TIME] : [ANSWER_TIME]) {
      for (const [index, server] of all) {
        if (undecidedServers.get(server)?.isTimeout === false) continue;
        // A server that was not reached yet must not hold the call while others could answer.
        const seconds = index === this.#current ? wait : wait && 0;
        const waitTime = (seconds ?? 0) * SECOND;
        const remaining = Math.max(deadline - performance.now() - waitTime, MIN_ANSWER_TIME);
        const limit = AbortSignal.timeout(waitTime + Math.min(answerTime, remaining));
        const outcome = await this.#registerAt(server, seconds, AbortSignal.any([signal, limit]));
        if (outcome.kind !== "undecided") {
          this.#current = index;
          return outcome;
        }
        undecidedServers.set(server, outcome);
        signal.throwIfAborted();
      }
    }
    const outcomes = [...undecidedServers.values()];
    const tlsFaults = outcomes.flatMap(({ tlsFault }) => tlsFault ?? []);
    return {
      kind: "unanswered",
      reasons: [...undecidedServers].map(([server, { reason }]) => `${server} ${reason}`),
      isTakeover: outcomes.some(({ isStandby }) => isStandby),
      tlsFaults: tlsFaults.length === outcomes.length ? tlsFaults : [],
    };
  }

  /** Gives the slot and the place in the queue back. */
  async unregister(signal: AbortSignal): Promise<ReleaseOutcome> {
    let isTakeover = false;
    for (const [index, server] of this.#serversInTurn()) {
      const reply = await this.#unregisterAt(server, signal);
      if (reply === "ok") {
        this.#current = index;
        return "released";
      }
      // Of another server than the last one, it does not say that the slot is free there.
      if (reply === "user_not_registered" && index === this.#current) return "released";
      isTakeover ||= reply === "standby";
    }
    return isTakeover ? "takeover" : "unconfirmed";
  }

  /** All servers, first the one that answered last. */
  #serversInTurn(): (readonly [index: number, server: string])[] {
    const entries = [...this.#options.servers.entries()];
    return [...entries.slice(this.#current), ...entries.slice(0, this.#current)];
  }

  /** "ok", the code of a refusal, or null: it did not answer. */
  async #unregisterAt(server: string, signal: AbortSignal): Promise<string | null> {
    const { user = "", product = "", license_id: id } = this.#options.fields;
    const body = { user, product, ...(id !== undefined && { license_id: id }) };
    const limit = AbortSignal.any([signal, AbortSignal.timeout(RELEASE_ANSWER_TIME)]);
    try {
      const response = await this.#send(server, "unregister", body, {}, limit);
      if (this.#pin.findOther(response) !== null) return null;
      return response.ok ? "ok" : String(readMember(await readJson(response), "code"));
    } catch {
      return null;
    }
  }

  async #registerAt(
    server: string,
    wait: number | null,
    signal: AbortSignal,
  ): Promise<Exclude<ClaimOutcome, Unanswered> | Undecided> {
    try {
      const headers = wait === null ? {} : { prefer: `wait=${wait}` };
      const { fields } = this.#options;
      const response = await this.#send(server, "register", fields, headers, signal);
      const other = this.#pin.findOther(response);
      if (other !== null) return undecided(other);
      const outcome = readOutcome(server, response, await readJson(response));
      if (outcome.kind !== "undecided") this.#pin.keep(response);
      return outcome;
    } catch (error) {
      const isTimeout = isTimeoutError(error);
      const tlsFault = isTimeout || signal.aborted ? null : findTlsFault(errorCode(error) ?? "");
      if (tlsFault !== null) return undecided(tlsFault.reason, { tlsFault });
      const reason = isTimeout ? "timed out" : describeNetworkError(error);
      return undecided(`does not answer: ${reason}`, { isTimeout });
    }
  }

  /** Logs in first if that is needed; a token lasts an hour. */
  async #send(
    server: string,
    operation: string,
    body: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Response> {
    const { login } = this.#options;
    const call = (): Promise<Response> => {
      const token = this.#tokens.get(server);
      return this.#fetch(`${server}/api/v4/${operation}`, {
        method: "POST",
        body: JSON.stringify(body),
        headers: {
          "content-type": "application/json",
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...headers,
        },
        signal,
      });
    };
    if (login === null) return call();
    if (this.#tokens.has(server)) {
      const response = await call();
      if (response.status !== 401) return response;
    }
    const refusal = await this.#logIn(server, login, signal);
    return refusal ?? call();
  }

  /** The reply of a server that refuses the login; null: logged in. */
  async #logIn(
    server: string,
    { name, password }: NonNullable<ClientOptions["login"]>,
    signal: AbortSignal,
  ): Promise<Response | null> {
    const credentials = Buffer.from(`${name}:${password}`).toString("base64");
    const headers = { authorization: `Basic ${credentials}` };
    const response = await this.#fetch(`${server}/auth`, { headers, signal });
    if (!response.ok) return response;
    const token = readMember(await readJson(response), "token");
    if (typeof token === "string") this.#tokens.set(server, token);
    return null;
  }

  #fetch(url: string, init: CallInit): Promise<Response> {
    const { ca, certificate } = this.#options.tls;
    return fetch(url, {
      ...init,
      headers: { ...init.headers, [AUDIENCE_HEADER]: COMMAND_LINE_AUDIENCE },
      redirect: "error",
      ...(url.startsWith("https:") && {
        tls: {
          ca: [...ca],
          ...(certificate !== null && { cert: certificate, key: certificate }),
        },
      }),
    });
  }
}

/** The runtime's own texts for the most frequent errors do not say what happened. */
const describeNetworkError = (error: unknown): string =>
  NETWORK_ERRORS[errorCode(error) ?? ""] ?? messageOfError(error);

const isTimeoutError = (error: unknown): boolean =>
  error instanceof Error && error.name === "TimeoutError";

const NETWORK_ERRORS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "the connection was closed",
  ENOTFOUND: "no such host",
};

/**
 * The appliance that answered first. Several servers of one command are the hosts of a pair, which
 * are one appliance: a slot at an unrelated server would be a second slot.
 */
class AppliancePin {
  #id: string | null = null;

  /** Why a reply is not used; null: it is of the same appliance, or of the first one. */
  findOther({ headers }: Response): string | null {
    const id = headers.get(APPLIANCE_HEADER);
    if (this.#id === null || id === null || id === this.#id) return null;
    return `is another appliance: ${id}, not ${this.#id}`;
  }

  /** Keeps the appliance of the first reply that decided. */
  keep({ headers }: Response): void {
    this.#id ??= headers.get(APPLIANCE_HEADER);
  }
}
