import type { ChangeAccess } from "../domain/appliance/change-access.ts";
import type { AccessChange } from "../domain/event.ts";
import type { Fault } from "../domain/fault.ts";
import type { AccessFault } from "../faults/fault-types.ts";
import { err, ok, type Result } from "../domain/result.ts";
import { DAY, HOUR } from "../domain/time.ts";
import { PasswordHasher } from "../platform/crypto/passwords.ts";
import { TaskQueue } from "../platform/schedule/task-queue.ts";
import { errorCode } from "../platform/files/system-error.ts";
import { log } from "../platform/log.ts";
import { randomToken } from "../platform/crypto/random.ts";
import type { AccessFile, AccessList } from "../store/secrets/access-file.ts";
import { toStorageFault, type StorageFault } from "../store/journal/group-commit.ts";
import type { Store } from "../store/store.ts";
import {
  findTokenName,
  hasAdminCredential,
  hashToken,
  markExpiredTokens,
  toAccessView,
  type AccessView,
} from "./access-list.ts";
import { LoginRateLimiter } from "./login-rate-limiter.ts";

export type Role = "admin" | "user";

/** The owner of a credential. */
export interface Actor {
  readonly name: string;
  readonly role: Role;
  /** A token of that name, or a login of that user. */
  readonly credentialType: "token" | "user";
}

export type AccessResult<T> = Promise<Result<T, Fault | StorageFault | AccessFault>>;

export interface CreatedToken {
  readonly name: string;
  /** Shown only now; only its digest is stored. */
  readonly token: string;
  readonly endsAt: number | null;
}

export interface Login {
  readonly actor: Actor;
  readonly token: string;
}

const TOKEN_PREFIX = "berth_";
const SESSION_DURATION = HOUR;
const MAX_SESSIONS = 10_000;

interface Session extends Actor {
  readonly madeAt: number;
  readonly endsAt: number;
}

/**
 * Credentials: tokens for programs and operators, and passwords for people, who log in to get a
 * token for an hour. No secret can be read back: tokens are stored as digests, passwords as
 * argon2id.
 */
export class AccessControl {
  readonly #store: Store;
  readonly #file: AccessFile;
  readonly #now: () => number;
  readonly #passwords = new PasswordHasher();
  readonly #loginLimiter = new LoginRateLimiter();
  /** Login tokens by digest, oldest first; lost with a restart. */
  readonly #sessions = new Map<string, Session>();
  #list: AccessList;
  readonly #changes = new TaskQueue();

  constructor(store: Store, file: AccessFile, now: () => number) {
    this.#store = store;
    this.#file = file;
    this.#now = now;
    this.#list = file.read();
  }

  /** True: administration requires a credential, also on the machine itself. */
  isClaimed(): boolean {
    // An expired token counts: expiry must not open administration that was closed.
    return hasAdminCredential(this.#list);
  }

  /** The owner of a token; null: the token is not valid. */
  identify(token: string): Actor | null {
    const digest = hashToken(token);
    this.#markExpiredTokens();
    const now = this.#now();
    const name = findTokenName(this.#list, digest);
    if (name !== null) return { name, role: "admin", credentialType: "token" };
    const session = this.#sessions.get(digest);
    if (session === undefined) return null;
    // Now is before the login: the clock was set back, and the token's age is unknown.
    if (session.madeAt <= now && now < session.endsAt) return session;
    this.#sessions.delete(digest);
    return null;
  }

  /** Saves which tokens have expired, so that setting the clock back does not revive one. */
  async persistExpiredTokens(): Promise<void> {
    this.#markExpiredTokens();
    // Waits for all changes before.
    await this.#changes.run(() => {});
  }

  #markExpiredTokens(): void {
    const marked = markExpiredTokens(this.#list, this.#now());
    if (marked === null) return;
    this.#list = marked;
    void this.#changes.run(async () => {
      try {
        await (await this.#file.prepare(this.#list)).commit();
      } catch (error) {
        // The next change, or the next start, writes it to the file.
        log.warn("could not save token expiry", { error });
      }
    });
  }

  /** Checks a password, and returns a token that is valid for an hour. */
  async login(name: string, password: string, peer: string): Promise<Result<Login, AccessFault>> {
    const now = this.#now();
    if (!this.#loginLimiter.tryAcquire(peer, name, now)) return err({ code: "too_many_requests" });
    const user = this.#list.users.find((entry) => entry.name === name);
    const isCorrect = await this.#passwords.verify(password, user?.argon2id ?? null);
    // The user may have been removed, or have got a new password, during the check.
    const currentUser = this.#list.users.find((entry) => entry.name === name);
    if (!isCorrect || user === undefined || currentUser?.argon2id !== user.argon2id) {
      return err({ code: "unauthorized" });
    }
    this.#loginLimiter.release(peer, name);
    const token = `${TOKEN_PREFIX}${randomToken()}`;
    const actor: Actor = { name, role: user.role, credentialType: "user" };
    this.#sessions.set(hashToken(token), { ...actor, madeAt: now, endsAt: now + SESSION_DURATION });
    for (const [digest, session] of this.#sessions) {
      if (this.#sessions.size <= MAX_SESSIONS && now < session.endsAt) break;
      this.#sessions.delete(digest);
    }
    return ok({ actor, token });
  }

  async createToken(name: string, days: number | null, peer: string): AccessResult<CreatedToken> {
    return this.#change("token_made", name, peer, (list) => {
      if (list.tokens.some((entry) => entry.name === name)) return err({ code: "name_taken" });
      const token = `${TOKEN_PREFIX}${randomToken()}`;
      const madeAt = this.#now();
      const endsAt = days === null ? null : madeAt + days * DAY;
      const entry = { name, sha256: hashToken(token), madeAt, endsAt };
      return ok({
        list: { ...list, tokens: [...list.tokens, entry] },
        value: { name, token, endsAt },
      });
    });
  }

  async revokeToken(name: string, peer: string): AccessResult<null> {
    return this.#change("token_revoked", name, peer, (list) => {
      const tokens = list.tokens.filter((entry) => entry.name !== name);
      if (tokens.length === list.tokens.length) return err({ code: "unknown_name" });
      return ok({ list: { ...list, tokens }, value: null });
    });
  }

  /** Adds a user, or changes the password or role of an existing one. */
  async setUser(name: string, role: Role, password: string, peer: string): AccessResult<null> {
    const argon2id = await this.#passwords.hash(password);
    const setAt = this.#now();
    return this.#change("user_set", name, peer, (list) => {
      const users = list.users.filter((entry) => entry.name !== name);
      return ok({
        list: { ...list, users: [...users, { name, role, argon2id, setAt }] },
        value: null,
      });
    });
  }

  async removeUser(name: string, peer: string): AccessResult<null> {
    return this.#change("user_removed", name, peer, (list) => {
      const users = list.users.filter((entry) => entry.name !== name);
      if (users.length === list.users.length) return err({ code: "unknown_name" });
      return ok({ list: { ...list, users }, value: null });
    });
  }

  list(): AccessView {
    return toAccessView(this.#list, this.#now());
  }

  /**
   * Changes run one at a time: write the new file beside the old one, write the audit log, rename
   * the file, use the new list. So a full disk is noticed before the audit log claims a change.
   */
  #change<T>(
    change: AccessChange,
    name: string,
    peer: string,
    edit: (list: AccessList) => Result<{ list: AccessList; value: T }, AccessFault>,
  ): AccessResult<T> {
    return this.#changes.run(async (): Promise<Awaited<AccessResult<T>>> => {
      const edited = edit(this.#list);
      if (!edited.ok) return edited;
      // Without any administrator credential, administration would be open on this machine.
      if (hasAdminCredential(this.#list) && !hasAdminCredential(edited.value.list)) {
        return err({ code: "last_credential" });
      }
      const saved = await this.#write(edited.value.list, { change, name, peer });
      // Sessions of a changed user end, even if the change could not be saved.
      for (const [digest, session] of this.#sessions) {
        if (change.startsWith("user_") && session.name === name) this.#sessions.delete(digest);
      }
      if (!saved.ok) return saved;
      return ok(edited.value.value);
    });
  }

  async #write(
    list: AccessList,
    command: Omit<ChangeAccess, "type">,
  ): Promise<Result<null, Fault | StorageFault>> {
    try {
      const prepared = await this.#file.prepare(list);
      const recorded = await this.#store.transact({ type: "ChangeAccess", ...command }, () => null);
      if (!recorded.ok) {
        prepared.discard();
        return recorded;
      }
      await prepared.commit();
      this.#list = list;
      return ok(null);
    } catch (error) {
      if (errorCode(error) === null) throw error;
      log.error("could not save access changes", { error });
      // The file may be the old or the new one; the next start will use it, so this process does
      // too.
      this.#list = this.#file.read();
      return err(toStorageFault(error));
    }
  }
}
