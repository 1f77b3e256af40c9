import { HOUR, MINUTE } from "../../domain/time.ts";
import { randomId } from "../../platform/crypto/random.ts";
import { RateLimiter } from "../../platform/schedule/rate-limiter.ts";
import type { AccessList } from "../../store/secrets/access-file.ts";
import { ownerKey, sessionKey, type Actor, type Role } from "./actor.ts";
import { createSecret, DigestMap, hashToken } from "./digest-map.ts";

type SessionRow = NonNullable<AccessList["sessions"]>[number];

/** A working day: an operator signs in once a day, and a forgotten tab is of no use tomorrow. */
const SESSION_DURATION = 12 * HOUR;

/** More than the browser tabs of one person. Beyond it, the owner's oldest session ends. */
const MAX_PER_OWNER = 20;
const MAX_SESSIONS = 1_000;
/** Each new session is written to disk, so one owner may not start them without limit. */
const MAX_STARTS_PER_MINUTE = 30;

export interface PageSession {
  readonly row: SessionRow;
  readonly actor: Actor;
}

interface StartedPageSession {
  readonly session: PageSession;
  readonly token: string;
  readonly ended: readonly PageSession[];
}

/**
 * The sessions of the operator's page. They are stored as digests beside the tokens, so that a
 * restart of the server does not sign out.
 */
export class PageSessions {
  readonly #sessions = new DigestMap<PageSession>();
  readonly #starts = new RateLimiter(MINUTE);

  /** Sessions whose owner does not exist any more are left out. */
  constructor(list: AccessList) {
    for (const row of list.sessions) {
      const role = roleOfOwner(list, row);
      if (role !== null) this.#sessions.set(row.sha256, { row, actor: toActor(row, role) });
    }
  }

  /**
   * `ended`: older sessions that ended because there are too many. Null: the owner has started too
   * many within a minute.
   */
  start(
    owner: Pick<Actor, "name" | "role" | "credentialType">,
    { now, endsAt, address }: { now: number; endsAt: number; address: string },
  ): StartedPageSession | null {
    const key = ownerKey(owner.credentialType, owner.name);
    if (this.#starts.count(now, key) >= MAX_STARTS_PER_MINUTE) return null;
    this.#starts.add(now, [key]);
    const token = createSecret();
    const row: SessionRow = {
      id: randomId(),
      sha256: hashToken(token),
      credential: owner.credentialType,
      name: owner.name,
      madeAt: now,
      endsAt: Math.min(endsAt, now + SESSION_DURATION),
      address,
    };
    const session = { row, actor: toActor(row, owner.role) };
    this.#sessions.set(row.sha256, session);
    return { session, token, ended: this.#endOldest(key) };
  }

  find(digest: string): PageSession | null {
    return this.#sessions.get(digest);
  }

  findById(id: string): PageSession | null {
    return this.list().find(({ row }) => row.id === id) ?? null;
  }

  list(): PageSession[] {
    return [...this.#sessions.entries()].map(([, session]) => session);
  }

  end({ row }: PageSession): void {
    this.#sessions.delete(row.sha256);
  }

  /** Returns the sessions that were ended. */
  endWhere(matches: (session: PageSession) => boolean): PageSession[] {
    const ended = this.list().filter(matches);
    for (const session of ended) this.end(session);
    return ended;
  }

  /**
   * Ends those that have expired, and those that were started after now: the clock was set back,
   * and their age is unknown.
   */
  endExpired(now: number): PageSession[] {
    return this.endWhere(({ row }) => !isValid(row, now));
  }

  #endOldest(key: string): PageSession[] {
    const all = this.list();
    const ofOwner = all.filter((session) => keyOfOwner(session) === key);
    const surplus = new Set([...ofOwner.slice(0, -MAX_PER_OWNER), ...all.slice(0, -MAX_SESSIONS)]);
    return this.endWhere((session) => surplus.has(session));
  }
}

export const isValid = ({ madeAt, endsAt }: SessionRow, now: number): boolean =>
  madeAt <= now && now < endsAt;

export const keyOfOwner = ({ row }: PageSession): string => ownerKey(row.credential, row.name);

const toActor = ({ id, name, credential }: SessionRow, role: Role): Actor => ({
  name,
  role,
  credentialType: credential,
  sessionId: id,
  useKey: sessionKey(id),
});

/**
 * Null: there is no such owner, or it was replaced by one of the same name after the session was
 * started. A token that has expired ends its sessions by their own end.
 */
function roleOfOwner(
  { tokens, users }: AccessList,
  { credential, name, madeAt }: SessionRow,
): Role | null {
  if (credential === "user") {
    const user = users.find((candidate) => candidate.name === name);
    return user === undefined || user.setAt > madeAt ? null : user.role;
  }
  const token = tokens.find((candidate) => candidate.name === name);
  if (token === undefined || token.ended === true || token.madeAt > madeAt) return null;
  return token.role ?? "admin";
}
