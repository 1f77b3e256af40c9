import { MINUTE, SECOND } from "../../domain/time.ts";
import type { TlsFault } from "./tls-fault.ts";

/** A slot that a server granted. */
export interface Slot {
  readonly server: string;
  readonly licenseId: number;
  readonly registeredAt: string;
  readonly expiresAt: string;
  /** How long the slot lasts after a heartbeat, in milliseconds. */
  readonly timeout: number;
}

export interface QueuePosition {
  readonly position: number;
  readonly length: number;
  readonly eta: { readonly p50: string; readonly p90: string } | null;
}

/** A server answered that it does not grant the slot. */
export interface Refused {
  readonly kind: "refused";
  readonly server: string;
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  /** How long to pause before the next call, in milliseconds; null: the server did not say. */
  readonly retryAfter: number | null;
  readonly queue: QueuePosition | null;
}

/** No server could be reached, or none could decide now. */
export interface Unanswered {
  readonly kind: "unanswered";
  /** One reason for each server. */
  readonly reasons: readonly string[];
  /** A host of a pair is on standby: it, or the other one, answers soon. */
  readonly isTakeover: boolean;
  /** The faults of all servers, if none of them can be used by TLS; otherwise empty. */
  readonly tlsFaults: readonly TlsFault[];
}

/** A server did not answer, or cannot decide now. */
export interface Undecided {
  readonly kind: "undecided";
  readonly reason: string;
  readonly isStandby: boolean;
  /** It may still answer. */
  readonly isTimeout: boolean;
  readonly tlsFault: TlsFault | null;
}

export type ClaimOutcome = { readonly kind: "granted"; readonly slot: Slot } | Refused | Unanswered;

export const undecided = (
  reason: string,
  { isStandby = false, isTimeout = false, tlsFault = null }: Partial<UndecidedFacts> = {},
): Undecided => ({ kind: "undecided", reason, isStandby, isTimeout, tlsFault });

type UndecidedFacts = Pick<Undecided, "isStandby" | "isTimeout" | "tlsFault">;

/** The slot is renewed three times in its time-out: a shorter one would be a flood of requests. */
const MIN_TIMEOUT = SECOND / 2;

/** Replies after which another server, or the same one later, may decide. */
const isUndecided = (status: number, code: unknown): boolean =>
  status >= 500 || status === 429 || code === "moved_away";

/** What a reply to `register` says. */
export function readOutcome(
  server: string,
  { status, headers }: Response,
  reply: unknown,
): Exclude<ClaimOutcome, Unanswered> | Undecided {
  const timeout = Number(readMember(reply, "floating_timeout")) * MINUTE;
  if (status === 200 && timeout >= MIN_TIMEOUT) {
    return {
      kind: "granted",
      slot: {
        server,
        licenseId: Number(readMember(reply, "license_id")),
        registeredAt: String(readMember(reply, "registered_at")),
        expiresAt: String(readMember(reply, "expires_at")),
        timeout,
      },
    };
  }
  const code = readMember(reply, "code");
  if (typeof code !== "string") return undecided(`is not a Berth server: it answers ${status}`);
  const message = String(readMember(reply, "message"));
  if (isUndecided(status, code))
    return undecided(`answers ${status}: ${message}`, { isStandby: code === "standby" });
  const hint = readMember(reply, "hint");
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  return {
    kind: "refused",
    server,
    status,
    code,
    message,
    hint: typeof hint === "string" ? hint : "",
    retryAfter: Number.isFinite(seconds) ? seconds * SECOND : null,
    queue: readQueue(readMember(reply, "queue")),
  };
}

function readQueue(queue: unknown): QueuePosition | null {
  const position = Number(readMember(queue, "position"));
  const length = Number(readMember(queue, "length"));
  if (!Number.isFinite(position) || !Number.isFinite(length)) return null;
  const eta = readMember(queue, "eta");
  const [p50, p90] = [readMember(eta, "p50"), readMember(eta, "p90")];
  const hasEta = typeof p50 === "string" && typeof p90 === "string";
  return { position, length, eta: hasEta ? { p50, p90 } : null };
}

/** Null: it is no JSON. */
export async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    return null;
  }
}

/** Undefined: it has no such member. */
export const readMember = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
