import { createHash, timingSafeEqual } from "node:crypto";
import { realDisk } from "../platform/files/disk.ts";
import { AccessFile, type AccessList } from "../store/secrets/access-file.ts";

export type { AccessList };

type Token = AccessList["tokens"][number];

interface TokenView {
  readonly name: string;
  readonly madeAt: number;
  readonly endsAt: number | null;
  readonly ended: boolean;
}

/** The credentials without what is stored of their secrets. */
export interface AccessView {
  readonly tokens: readonly TokenView[];
  readonly users: readonly Omit<AccessList["users"][number], "argon2id">[];
}

/** The credentials in a data folder that this process has not opened. */
export const readAccessList = (folder: string): AccessList =>
  new AccessFile(realDisk, folder).read();

/** Whether an administrator credential exists: then administration requires one. */
export const hasAdminCredential = ({ tokens, users }: AccessList): boolean =>
  tokens.length > 0 || users.some(({ role }) => role === "admin");

/** The form in which a token is stored. */
export const hashToken = (token: string): string =>
  createHash("sha256").update(token).digest("hex");

/** The name of the valid token that is stored as this digest. */
export function findTokenName({ tokens }: AccessList, digest: string): string | null {
  let found: string | null = null;
  // All tokens are compared, so that the time it takes tells nothing about a guess.
  for (const { name, sha256, ended } of tokens) {
    const isSame = timingSafeEqual(Buffer.from(sha256, "hex"), Buffer.from(digest, "hex"));
    if (isSame && ended !== true) found = name;
  }
  return found;
}

/** The list with the tokens marked that have expired; null: no mark is new. */
export function markExpiredTokens(list: AccessList, now: number): AccessList | null {
  const isNewlyExpired = (token: Token): boolean => token.ended !== true && isExpired(token, now);
  if (!list.tokens.some(isNewlyExpired)) return null;
  const tokens = list.tokens.map((token) =>
    isNewlyExpired(token) ? { ...token, ended: true as const } : token,
  );
  return { ...list, tokens };
}

export const toAccessView = ({ tokens, users }: AccessList, now: number): AccessView => ({
  tokens: tokens.map((token) => {
    const { name, madeAt, endsAt } = token;
    return { name, madeAt, endsAt, ended: isExpired(token, now) };
  }),
  users: users.map(({ name, role, setAt }) => ({ name, role, setAt })),
});

const isExpired = ({ ended, endsAt }: Token, now: number): boolean =>
  ended === true || (endsAt !== null && endsAt <= now);
