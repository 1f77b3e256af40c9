// The calls that are made while a server is killed, and what each would change.
import type { KillResults } from "./results.ts";
import type { MaybeSlot, ExpectedSlot, ExpectedUser } from "./expected-state.ts";

export const PRODUCT = "cad";
export const FLOATING_FEATURE = "render";
export const COUNTING_FEATURE = "export";

/** One server from its start to its end, as its callers see it. */
export interface ServerRun {
  readonly url: string;
  /** Long texts, so that the journal grows. */
  readonly usesLongTexts: boolean;
  /** No more calls. */
  isOver: boolean;
  /** It was told to end, or killed: a call that fails is no surprise from here on. */
  isEnding: boolean;
  /** An answer has come, this instant. */
  onAnswer(): void;
  /** A read has shown what is not answered yet, this instant. */
  onEarlyRead(): void;
}

export interface CallAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Null when no answer came. */
export async function callServer(
  life: ServerRun,
  figures: KillResults,
  path: string,
  body: object | null,
  key: string | null = null,
): Promise<CallAnswer | null> {
  try {
    const response = await fetch(`${life.url}${path}`, {
      method: body === null ? "GET" : "POST",
      ...(body !== null && { body: JSON.stringify(body) }),
      headers: {
        ...(body !== null && { "content-type": "application/json" }),
        ...(key !== null && { "idempotency-key": key }),
      },
    });
    const text = await response.text();
    life.onAnswer();
    const isJson = response.headers.get("content-type")?.includes("json") === true;
    return { status: response.status, body: isJson ? JSON.parse(text) : text };
  } catch (error) {
    if (!life.isEnding)
      figures.recordViolation("answers", `${path} failed by itself: ${String(error)}`);
    return null;
  }
}

export interface ChangeCall {
  readonly user: ExpectedUser;
  readonly path: string;
  readonly body: object;
  readonly slotAfter: MaybeSlot;
  /** The one refusal that is right here; null: none is. */
  readonly expectedRefusal: string | null;
  readonly key?: string;
}

const NEW: ExpectedSlot = {
  info: "",
  borrowedUntil: null,
  features: [],
  registeredAt: null,
  expiresAt: null,
};

export const slotOrNew = ({ slot }: ExpectedUser): ExpectedSlot => slot ?? NEW;

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
  const has = slot?.features.includes(FLOATING_FEATURE) === true;
  const no = has ? null : "floating_not_available";
  return {
    user,
    path: "featureRegister",
    body: { ...userFields(user), feature: FLOATING_FEATURE },
    slotAfter: slot && { ...slot, features: [FLOATING_FEATURE] },
    expectedRefusal: slot === null ? "user_not_registered" : no,
  };
}

export function releaseFeatureCall(user: ExpectedUser): ChangeCall {
  const { slot } = user;
  const has = slot?.features.includes(FLOATING_FEATURE) === true;
  return {
    user,
    path: "featureRelease",
    body: { ...userFields(user), feature: FLOATING_FEATURE },
    slotAfter: slot && { ...slot, features: [] },
    expectedRefusal: has ? null : "user_not_registered",
  };
}
