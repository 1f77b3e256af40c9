// The calls that are made while a server is killed, and what each would change.
import type { Figures } from "./kill-figures.ts";
import type { Holding, Slot, User } from "./kill-ledger.ts";

export const PRODUCT = "cad";
export const FLOATING = "render";
export const COUNTING = "export";

/** One server from its start to its end, as its callers see it. */
export interface Life {
  readonly url: string;
  /** Long texts, so that the journal grows. */
  readonly padded: boolean;
  /** No more calls. */
  over: boolean;
  /** It was told to end, or killed: a call that fails is no surprise from here on. */
  ending: boolean;
  /** An answer has come, this instant. */
  heard(): void;
  /** A read has shown what is not answered yet, this instant. */
  sawEarly(): void;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** Null when no answer came. */
export async function call(
  life: Life,
  figures: Figures,
  path: string,
  body: object | null,
  key: string | null = null,
): Promise<Answer | null> {
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
    life.heard();
    const isJson = response.headers.get("content-type")?.includes("json") === true;
    return { status: response.status, body: isJson ? JSON.parse(text) : text };
  } catch (error) {
    if (!life.ending) figures.break("answers", `${path} failed by itself: ${String(error)}`);
    return null;
  }
}

export interface Change {
  readonly user: User;
  readonly path: string;
  readonly body: object;
  readonly after: Holding;
  /** The one refusal that is right here; null: none is. */
  readonly refusal: string | null;
  readonly key?: string;
}

const NEW: Slot = {
  info: "",
  borrowedUntil: null,
  features: [],
  registeredAt: null,
  expiresAt: null,
};

export const kept = ({ held }: User): Slot => held ?? NEW;

const named = (user: User) => ({ product: PRODUCT, user: user.name });

export const borrowing = (user: User, slot: Slot, key: string | null): Change => ({
  user,
  path: "borrow",
  body: { ...named(user), user_info: slot.info, borrowed_until: slot.borrowedUntil },
  after: slot,
  refusal: user.held === null ? "floating_not_available" : null,
  ...(key !== null && { key }),
});

export const givingBack = (user: User): Change => ({
  user,
  path: "unregister",
  body: named(user),
  after: null,
  refusal: user.held === null ? "user_not_registered" : null,
});

export function takingFeature(user: User): Change {
  const { held } = user;
  const has = held?.features.includes(FLOATING) === true;
  const no = has ? null : "floating_not_available";
  return {
    user,
    path: "featureRegister",
    body: { ...named(user), feature: FLOATING },
    after: held && { ...held, features: [FLOATING] },
    refusal: held === null ? "user_not_registered" : no,
  };
}

export function releasingFeature(user: User): Change {
  const { held } = user;
  const has = held?.features.includes(FLOATING) === true;
  return {
    user,
    path: "featureRelease",
    body: { ...named(user), feature: FLOATING },
    after: held && { ...held, features: [] },
    refusal: has ? null : "user_not_registered",
  };
}
