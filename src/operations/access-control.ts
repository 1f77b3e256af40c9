import { createHash, timingSafeEqual } from "node:crypto";
import type { ChangeAccess } from "../domain/command.ts";
import type { AccessChange } from "../domain/event.ts";
import type { Fault } from "../domain/fault.ts";
import { err, ok, type Result } from "../domain/result.ts";
import { DAY, HOUR } from "../domain/time.ts";
import { PasswordHasher } from "../platform/passwords.ts";
import { errorCode } from "../platform/disk.ts";
import { log } from "../platform/log.ts";
import { randomToken } from "../platform/random.ts";
import type { AccessFile, AccessList } from "../store/access-file.ts";
import { toStorageFault, type StorageFault } from "../store/group-commit.ts";
import type { Store } from "../store/store.ts";
import { LoginRateLimiter } from "./login-rate-limiter.ts";

export type Role = "admin" | "user";

/** Somebody who showed a credential. */
export interface Actor {
  readonly name: string;
  readonly role: Role;
  /** A token of that name, or a login of that user. */
  readonly credentialType: "token" | "user";
}

export type AccessFault =
  | { readonly code: "unauthorized" }
  | { readonly code: "too_many_requests" }
  | { readonly code: "unknown_name" }
  | { readonly code: "name_taken" }
  | { readonly code: "last_credential" };

export type AccessResult<T> = Promise<Result<T, Fault | StorageFault | AccessFault>>;

export interface CreatedToken {
  readonly name: string;
  /** Shown this once; only its digest is kept. */
  readonly token: string;
  readonly endsAt: number | null;
}

export interface Login {
  readonly actor: Actor;
  readonly token: string;
}

export interface TokenView {
  readonly name: string;
  readonly madeAt: number;
  readonly endsAt: number | null;
  readonly ended: boolean;
}

export interface AccessView {
  readonly tokens: readonly TokenView[];
  readonly users: readonly Omit<AccessList["users"][number], "argon2id">[];
}

const PREFIX = "berth_";
const SESSION = HOUR;
const SESSIONS = 10_000;

interface Session extends Actor {
  readonly madeAt: number;
  readonly endsAt: number;
}

/**
 * Who may get in: tokens for programs and operators, passwords for people, who get a token for an
 * hour. Nothing here can be read back: tokens are kept as digests, passwords as argon2id.
 */
export class AccessControl {
  readonly #store: Store;
  readonly #file: AccessFile;
  readonly #now: () => number;
  readonly #passwords = new PasswordHasher();
  readonly #attempts = new LoginRateLimiter();
  /** By digest, oldest first; gone with a restart. */
  readonly #sessions = new Map<string, Session>();
  #list: AccessList;
  #changing: Promise<unknown> = Promise.resolve();

  constructor(store: Store, file: AccessFile, now: () => number) {
    this.#store = store;
    this.#file = file;
    this.#now = now;
    this.#list = file.read();
  }

  /** From then on administration asks for a credential, on the machine itself too. */
  isClaimed(): boolean {
    // An expired token counts: time must not open a door that somebody closed.
    return hasAdminCredential(this.#list);
  }

  /** Whose token this is; null: nobody's. */
  identify(token: string): Actor | null {
    const digest = hashToken(token);
    this.#noteEnds();
    const now = this.#now();
    let found: Actor | null = null;
    // Every one is looked at: how long it takes tells nothing about how near a guess was.
    for (const { name, sha256, ended } of this.#list.tokens) {
      const same = timingSafeEqual(Buffer.from(sha256, "hex"), Buffer.from(digest, "hex"));
      if (same && ended !== true) found = { name, role: "admin", credentialType: "token" };
    }
    if (found !== null) return found;
    const session = this.#sessions.get(digest);
    if (session === undefined) return null;
    // Earlier than the login: the clock was set back, and how old it is cannot be told.
    if (session.madeAt <= now && now < session.endsAt) return session;
    this.#sessions.delete(digest);
    return null;
  }

  /** Writes down which tokens have ended, so that no clock set back later revives one. */
  async persistExpiredTokens(): Promise<void> {
    this.#noteEnds();
    await this.#changing;
  }

  #noteEnds(): void {
    const now = this.#now();
    const isNew = (one: Token): boolean => one.ended !== true && hasEnded(one, now);
    if (!this.#list.tokens.some(isNew)) return;
    const tokens = this.#list.tokens.map((one) =>
      isNew(one) ? { ...one, ended: true as const } : one,
    );
    this.#list = { ...this.#list, tokens };
    this.#changing = this.#changing.then(async () => {
      try {
        await (await this.#file.prepare(this.#list)).commit();
      } catch (error) {
        // It goes into the file with the next change, or with the next start.
        log.warn("could not save token expiry", { error });
      }
    });
  }

  /** A password for a token that ends within the hour. */
  async login(name: string, password: string, peer: string): Promise<Result<Login, AccessFault>> {
    const now = this.#now();
    if (!this.#attempts.tryAcquire(peer, name, now)) return err({ code: "too_many_requests" });
    const user = this.#list.users.find((one) => one.name === name);
    const right = await this.#passwords.verify(password, user?.argon2id ?? null);
    // Somebody may have been removed, or have a new password, while this one was checked.
    const still = this.#list.users.find((one) => one.name === name);
    if (!right || user === undefined || still?.argon2id !== user.argon2id) {
      return err({ code: "unauthorized" });
    }
    this.#attempts.release(peer, name);
    const token = `${PREFIX}${randomToken()}`;
    const actor: Actor = { name, role: user.role, credentialType: "user" };
    this.#sessions.set(hashToken(token), { ...actor, madeAt: now, endsAt: now + SESSION });
    for (const [digest, session] of this.#sessions) {
      if (this.#sessions.size <= SESSIONS && now < session.endsAt) break;
      this.#sessions.delete(digest);
    }
    return ok({ actor, token });
  }

  async createToken(name: string, days: number | null, peer: string): AccessResult<CreatedToken> {
    return this.#change("token_made", name, peer, (list) => {
      if (list.tokens.some((one) => one.name === name)) return err({ code: "name_taken" });
      const token = `${PREFIX}${randomToken()}`;
      const madeAt = this.#now();
      const endsAt = days === null ? null : madeAt + days * DAY;
      const made = { name, sha256: hashToken(token), madeAt, endsAt };
      return ok({
        list: { ...list, tokens: [...list.tokens, made] },
        value: { name, token, endsAt },
      });
    });
  }

  async revokeToken(name: string, peer: string): AccessResult<null> {
    return this.#change("token_revoked", name, peer, (list) => {
      const tokens = list.tokens.filter((one) => one.name !== name);
      if (tokens.length === list.tokens.length) return err({ code: "unknown_name" });
      return ok({ list: { ...list, tokens }, value: null });
    });
  }

  /** A new user, or a new password or role for one there is. */
  async setUser(name: string, role: Role, password: string, peer: string): AccessResult<null> {
    const argon2id = await this.#passwords.hash(password);
    const setAt = this.#now();
    return this.#change("user_set", name, peer, (list) => {
      const users = list.users.filter((one) => one.name !== name);
      return ok({
        list: { ...list, users: [...users, { name, role, argon2id, setAt }] },
        value: null,
      });
    });
  }

  async removeUser(name: string, peer: string): AccessResult<null> {
    return this.#change("user_removed", name, peer, (list) => {
      const users = list.users.filter((one) => one.name !== name);
      if (users.length === list.users.length) return err({ code: "unknown_name" });
      return ok({ list: { ...list, users }, value: null });
    });
  }

  list(): AccessView {
    const now = this.#now();
    const { tokens, users } = this.#list;
    return {
      tokens: tokens.map((one) => {
        const { name, madeAt, endsAt } = one;
        return { name, madeAt, endsAt, ended: hasEnded(one, now) };
      }),
      users: users.map(({ name, role, setAt }) => ({ name, role, setAt })),
    };
  }

  /**
   * One after the other: written beside its place, on record, in its place, in force. A disk with
   * no room left says so before the record claims anything.
   */
  #change<T>(
    change: AccessChange,
    name: string,
    peer: string,
    edit: (list: AccessList) => Result<{ list: AccessList; value: T }, AccessFault>,
  ): AccessResult<T> {
    const turn = this.#changing.then(async (): Promise<Awaited<AccessResult<T>>> => {
      const edited = edit(this.#list);
      if (!edited.ok) return edited;
      // Taking the last one away would open the door, not close it.
      if (hasAdminCredential(this.#list) && !hasAdminCredential(edited.value.list)) {
        return err({ code: "last_credential" });
      }
      const written = await this.#write(edited.value.list, { change, name, peer });
      // Whoever came in by what was just changed has to come in again, even if it may not last.
      for (const [digest, session] of this.#sessions) {
        if (change.startsWith("user_") && session.name === name) this.#sessions.delete(digest);
      }
      if (!written.ok) return written;
      return ok(edited.value.value);
    });
    this.#changing = turn.catch(() => {});
    return turn;
  }

  async #write(
    list: AccessList,
    what: Omit<ChangeAccess, "type">,
  ): Promise<Result<null, Fault | StorageFault>> {
    try {
      const prepared = await this.#file.prepare(list);
      const noted = await this.#store.transact({ type: "ChangeAccess", ...what }, () => null);
      if (!noted.ok) {
        prepared.discard();
        return noted;
      }
      await prepared.commit();
      this.#list = list;
      return ok(null);
    } catch (error) {
      if (errorCode(error) === null) throw error;
      log.error("could not save access changes", { error });
      // Whatever the file says now is what the next start will go by.
      this.#list = this.#file.read();
      return err(toStorageFault(error));
    }
  }
}

/** Somebody may administer, and so nobody else may. */
export const hasAdminCredential = ({ tokens, users }: AccessList): boolean =>
  tokens.length > 0 || users.some(({ role }) => role === "admin");

type Token = AccessList["tokens"][number];

const hasEnded = ({ ended, endsAt }: Token, now: number): boolean =>
  ended === true || (endsAt !== null && endsAt <= now);

/** How a token is kept. */
export const hashToken = (token: string): string =>
  createHash("sha256").update(token).digest("hex");
