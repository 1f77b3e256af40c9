import { realDisk } from "../../platform/files/disk.ts";
import { AccessFile, type AccessList } from "../../store/secrets/access-file.ts";
import { ownerKey, type Actor, type CredentialType, type Role, type TokenRole } from "./actor.ts";
import { DigestMap } from "./digest-map.ts";
import type { LastUse } from "./last-uses.ts";

export type { AccessList, LastUse };
export { hashToken } from "./digest-map.ts";

type Token = AccessList["tokens"][number];
type User = AccessList["users"][number];

interface TokenView {
  readonly name: string;
  readonly role: TokenRole;
  readonly madeAt: number;
  readonly endsAt: number | null;
  readonly ended: boolean;
  readonly lastUse: LastUse | null;
}

interface UserView extends Omit<User, "argon2id" | "lastUse"> {
  readonly lastUse: LastUse | null;
}

/** A session of the operator's page. */
export interface SessionView {
  readonly id: string;
  readonly name: string;
  readonly credential: CredentialType;
  readonly role: Role;
  readonly madeAt: number;
  readonly endsAt: number;
  readonly lastUse: LastUse;
}

/** The credentials without what is stored of their secrets. */
export interface AccessView {
  readonly tokens: readonly TokenView[];
  readonly users: readonly UserView[];
  readonly sessions: readonly SessionView[];
}

/** The credentials in a data folder that this process has not opened. */
export const readAccessList = (folder: string): AccessList =>
  new AccessFile(realDisk, folder).read();

/**
 * Whether an administrator credential exists: then administration requires one. A viewer does not
 * count: it cannot create credentials, so no one could administer over the network.
 */
export const hasAdminCredential = ({ tokens, users }: AccessList): boolean =>
  tokens.some(({ role }) => role === undefined) || users.some(({ role }) => role === "admin");

/** The valid tokens of a list, by their digest. */
export function indexTokens({ tokens }: AccessList): DigestMap<Actor> {
  const index = new DigestMap<Actor>();
  for (const { name, role = "admin", sha256, ended } of tokens) {
    if (ended === true) continue;
    const useKey = ownerKey("token", name);
    index.set(sha256, { name, role, credentialType: "token", sessionId: null, useKey });
  }
  return index;
}

/** When the next token expires. */
export const nextTokenEnd = ({ tokens }: AccessList): number =>
  Math.min(
    ...tokens.map(({ ended, endsAt }) => (ended === true ? Infinity : (endsAt ?? Infinity))),
  );

/** The list with the tokens marked that have expired; null: no mark is new. */
export function markExpiredTokens(list: AccessList, now: number): AccessList | null {
  const isNewlyExpired = (token: Token): boolean => token.ended !== true && isExpired(token, now);
  if (!list.tokens.some(isNewlyExpired)) return null;
  const tokens = list.tokens.map((token) =>
    isNewlyExpired(token) ? { ...token, ended: true as const } : token,
  );
  return { ...list, tokens };
}

export const toTokenView = (token: Token, now: number, lastUse: LastUse | null): TokenView => {
  const { name, role = "admin", madeAt, endsAt } = token;
  return { name, role, madeAt, endsAt, ended: isExpired(token, now), lastUse };
};

export const toUserView = ({ name, role, setAt }: User, lastUse: LastUse | null): UserView => ({
  name,
  role,
  setAt,
  lastUse,
});

const isExpired = ({ ended, endsAt }: Token, now: number): boolean =>
  ended === true || (endsAt !== null && endsAt <= now);
