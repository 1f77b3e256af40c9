// The calls that clients send until a server is killed, and the change that each would make.
import type { KillResults } from "./results.ts";
import type { MaybeSlot, ExpectedSlot, ExpectedUser } from "./expected-state.ts";

export const PRODUCT = "cad";
export const FLOATING_FEATURE = "render";
export const COUNTING_FEATURE = "export";

/** One run of a server, from its start to its end, as its clients see it. */
export interface ServerRun {
  readonly url: string;
  /** Whether clients send long texts, so that the journal grows and rotates. */
  readonly usesLongTexts: boolean;
  /** Clients send no more calls. */
  isOver: boolean;
  /** The server was terminated or killed: from here on calls may fail. */
  isEnding: boolean;
  /** Called at the instant an answer has arrived. */
  onAnswer(): void;
  /** Called at the instant a read has shown a change that is not answered yet. */
  onEarlyRead(): void;
  /** Called when the server may no longer answer, and refuses with 503; null: that never happens. */
  onTermEnd: (() => void) | null;
  /** Ends the calls that wait for a server that is gone. */
  readonly signal?: AbortSignal;
}

export interface CallAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Calls the server; null if no answer arrived. */
export async function callServer(
  run: ServerRun,
  results: KillResults,
  path: string,
  body: object | null,
  key: string | null = null,
): Promise<CallAnswer | null> {
  try {
    const response = await fetch(`${run.url}${path}`, {
      method: body === null ? "GET" : "POST",
      ...(body !== null && { body: JSON.stringify(body) }),
      ...(run.signal !== undefined && { signal: run.signal }),
      headers: {
        ...(body !== null && { "content-type": "application/json" }),
        ...(key !== null && { "idempotency-key": key }),
      },
    });
    const text = await response.text();
    if (response.status === 503 && run.onTermEnd !== null) {
      run.onTermEnd();
      return null;
    }
    run.onAnswer();
    const isJson = response.headers.get("content-type")?.includes("json") === true;
    return { status: response.status, body: isJson ? JSON.parse(text) : text };
  } catch (error) {
    if (!run.isEnding)
      results.recordViolation(
        "answers",
        `${path} failed before the server was killed: ${String(error)}`,
      );
    return null;
  }
}

export interface ChangeCall {
  readonly user: ExpectedUser;
  readonly path: string;
  readonly body: object;
  readonly slotAfter: MaybeSlot;
  /** The code of the only refusal that is allowed; null if none is. */
  readonly expectedRefusal: string | null;
  readonly key?: string;
}

const NEW_SLOT: ExpectedSlot = {
  info: "",
  borrowedUntil: null,
  features: [],
  registeredAt: null,
  expiresAt: null,
};

export const slotOrNew = ({ slot }: ExpectedUser): ExpectedSlot => slot ?? NEW_SLOT;

const userFields = (user: ExpectedUser) => ({ product: PRODUCT, user: user.name });

export const borrowCall = (
  user: ExpectedUser,
  slot: ExpectedSlot,
  key: string | null,
): ChangeCall => ({
  user,
  path: "borrow",
  body: { ...userFields(user), user_info: slot.info, borrowed_until: slot.borrowedUntil },
  slotAfter: slot,
  expectedRefusal: user.slot === null ? "floating_not_available" : null,
  ...(key !== null && { key }),
});

export const unregisterCall = (user: ExpectedUser): ChangeCall => ({
  user,
  path: "unregister",
  body: userFields(user),
  slotAfter: null,
  expectedRefusal: user.slot === null ? "user_not_registered" : null,
});

export function registerFeatureCall(user: ExpectedUser): ChangeCall {
  const { slot } = user;
  const hasFeature = slot?.features.includes(FLOATING_FEATURE) === true;
  const refusal = hasFeature ? null : "floating_not_available";
  return {
    user,
    path: "featureRegister",
    body: { ...userFields(user), feature: FLOATING_FEATURE },
    slotAfter: slot && { ...slot, features: [FLOATING_FEATURE] },
    expectedRefusal: slot === null ? "user_not_registered" : refusal,
  };
}

export function releaseFeatureCall(user: ExpectedUser): ChangeCall {
  const { slot } = user;
  const hasFeature = slot?.features.includes(FLOATING_FEATURE) === true;
  return {
    user,
    path: "featureRelease",
    body: { ...userFields(user), feature: FLOATING_FEATURE },
    slotAfter: slot && { ...slot, features: [] },
    expectedRefusal: hasFeature ? null : "user_not_registered",
  };
}
