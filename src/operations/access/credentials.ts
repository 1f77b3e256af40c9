import type { AccessList } from "../../store/secrets/access-file.ts";
import {
  indexTokens,
  markExpiredTokens,
  nextTokenEnd,
  toTokenView,
  toUserView,
  type AccessView,
} from "./access-list.ts";
import { ownerKey, sessionKey, type Actor, type CredentialType, type Role } from "./actor.ts";
import { hashToken, DigestMap, createSecret } from "./digest-map.ts";
import { LastUses, type LastUse } from "./last-uses.ts";
import { isValid, keyOfOwner, PageSessions, type PageSession } from "./page-sessions.ts";
import { HOUR } from "../../domain/time.ts";

/**
 * The tokens, users and sessions in memory. A request is identified with the same work for any
 * number of them.
 */
export class Credentials {
  readonly logins = new LoginSessions();
  readonly pageSessions: PageSessions;
  readonly lastUses = new LastUses();
  /** Tokens and users; the sessions and last uses that it may contain are out of date. */
  #list: AccessList;
  #tokens: DigestMap<Actor>;
  /** When the next token or page session expires. */
  #nextEnd: number;
  /** The time of the last check for expiry; the first check after a start is complete. */
  #checkedAt = Infinity;

  constructor(list: AccessList) {
    this.#list = list;
    this.#tokens = indexTokens(list);
    this.pageSessions = new PageSessions(list);
    this.#nextEnd = this.#findNextEnd();
    for (const type of ["token", "user"] as const) {
      const rows = type === "token" ? list.tokens : list.users;
      for (const { name, lastUse } of rows) this.lastUses.load(ownerKey(type, name), lastUse);
    }
    for (const { row } of this.pageSessions.list()) {
      this.lastUses.load(sessionKey(row.id), row.lastUse);
    }
  }

  get list(): AccessList {
    return this.#list;
  }

  set list(list: AccessList) {
    this.#list = list;
    this.#tokens = indexTokens(list);
    this.#nextEnd = this.#findNextEnd();
  }

  /** The owner of a secret that is valid now; null: it is not valid. */
  identify(secret: string, now: number): Actor | null {
    const digest = hashToken(secret);
    const token = this.#tokens.get(digest);
    if (token !== null) return token;
    const session = this.pageSessions.find(digest);
    if (session === null) return this.logins.find(digest, now);
    return isValid(session.row, now) ? session.actor : null;
  }

  /**
   * Whether something has expired since the last call: then it is marked or removed, and must be
   * saved. Called for each request, so it does nothing until the next end. After the clock was set
   * back, sessions that were started later than now end as well: their age is unknown.
   */
  endExpired(now: number): boolean {
    const isSetBack = now < this.#checkedAt;
    this.#checkedAt = now;
    if (!isSetBack && now < this.#nextEnd) return false;
    const marked = markExpiredTokens(this.#list, now);
    const sessions = this.pageSessions.endExpired(now);
    this.#forgetUses(sessions);
    this.list = marked ?? this.#list;
    return marked !== null || sessions.length > 0;
  }

  addSession(owner: Actor, now: number, address: string): ReturnType<PageSessions["start"]> {
    const token = this.#list.tokens.find(({ name }) => name === owner.name);
    const ownerEnd = owner.credentialType === "token" ? token?.endsAt : null;
    const started = this.pageSessions.start(owner, {
      now,
      endsAt: ownerEnd ?? Infinity,
      address,
    });
    if (started !== null) this.#forgetUses(started.ended);
    this.#nextEnd = this.#findNextEnd();
    return started;
  }

  endSession(session: PageSession): void {
    this.pageSessions.end(session);
    this.#forgetUses([session]);
  }

  /** Ends what was started with a credential that is revoked or changed. */
  endSessionsOf(type: CredentialType, name: string): void {
    const key = ownerKey(type, name);
    this.#forgetUses(this.pageSessions.endWhere((session) => keyOfOwner(session) === key));
    if (type === "user") this.logins.endLoginsOf(name);
  }

  /** The content of the file, with another list of tokens and users. */
  contentWith({ tokens, users }: AccessList): AccessList {
    const sessions = this.pageSessions.list().map(({ row }) => row);
    return {
      access: 2,
      tokens: tokens.map((row) => this.#withUse(row, ownerKey("token", row.name))),
      users: users.map((row) => this.#withUse(row, ownerKey("user", row.name))),
      sessions: sessions.map((row) => this.#withUse(row, sessionKey(row.id))),
    };
  }

  view(now: number): AccessView {
    const { tokens, users } = this.#list;
    const lastUse = (key: string): LastUse | null => this.lastUses.get(key);
    const sessions = this.pageSessions.list().filter(({ row }) => isValid(row, now));
    return {
      tokens: tokens.map((token) =>
        toTokenView(token, now, lastUse(ownerKey("token", token.name))),
      ),
      users: users.map((user) => toUserView(user, lastUse(ownerKey("user", user.name)))),
      sessions: sessions.map(({ row, actor }) => ({
        id: row.id,
        name: row.name,
        credential: row.credential,
        role: actor.role,
        madeAt: row.madeAt,
        endsAt: row.endsAt,
        lastUse: lastUse(actor.useKey) ?? { at: row.madeAt, address: row.address },
      })),
    };
  }

  #withUse<R extends { readonly lastUse?: LastUse }>(row: R, key: string): R {
    const lastUse = this.lastUses.get(key);
    return lastUse === null ? row : { ...row, lastUse };
  }

  #forgetUses(sessions: readonly PageSession[]): void {
    for (const { actor } of sessions) this.lastUses.forget(actor.useKey);
  }

  #findNextEnd(): number {
    const sessionEnds = this.pageSessions.list().map(({ row }) => row.endsAt);
    return Math.min(nextTokenEnd(this.#list), ...sessionEnds);
  }
}

const LOGIN_DURATION = HOUR;
const MAX_LOGINS = 10_000;

interface LoginSession {
  readonly actor: Actor;
  readonly madeAt: number;
  readonly endsAt: number;
}

/** The logins at /auth; a restart ends them. */
class LoginSessions {
  readonly #sessions = new DigestMap<LoginSession>();

  /** Returns the token of a new login. */
  start(name: string, role: Role, now: number): { readonly actor: Actor; readonly token: string } {
    const token = createSecret();
    const useKey = ownerKey("user", name);
    const actor: Actor = { name, role, credentialType: "user", sessionId: null, useKey };
    this.#sessions.set(hashToken(token), { actor, madeAt: now, endsAt: now + LOGIN_DURATION });
    this.#forgetOldest(now);
    return { actor, token };
  }

  find(digest: string, now: number): Actor | null {
    const session = this.#sessions.get(digest);
    if (session === null) return null;
    // Now is before the login: the clock was set back, and the token's age is unknown.
    if (session.madeAt <= now && now < session.endsAt) return session.actor;
    this.#sessions.delete(digest);
    return null;
  }

  endLoginsOf(name: string): void {
    for (const [digest, { actor }] of this.#sessions.entries()) {
      if (actor.name === name) this.#sessions.delete(digest);
    }
  }

  /** Forgets logins that have ended, and the oldest ones if there are too many. */
  #forgetOldest(now: number): void {
    for (const [digest, { endsAt }] of this.#sessions.entries()) {
      if (this.#sessions.size <= MAX_LOGINS && now < endsAt) return;
      this.#sessions.delete(digest);
    }
  }
}
