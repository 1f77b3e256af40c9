import type { AccessChange } from "../../domain/model/event.ts";
import type { ChangeAccess } from "../../domain/access/change-access.ts";
import type { Fault } from "../../domain/model/fault.ts";
import type { AccessFault } from "../../faults/fault-types.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { DAY } from "../../domain/time.ts";
import { PasswordHasher } from "../../platform/crypto/passwords.ts";
import { TaskQueue } from "../../platform/schedule/task-queue.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { log } from "../../platform/log.ts";
import { FolderRefused } from "../../store/folder/refusal.ts";
import {
  encodeAccessList,
  parseAccessList,
  type AccessFile,
  type AccessList,
} from "../../store/secrets/access-file.ts";
import {
  StorageError,
  toStorageFault,
  type StorageFault,
} from "../../store/journal/storage-fault.ts";
import type { Store } from "../../store/store.ts";
import { hasAdminCredential, hashToken, type AccessView } from "./access-list.ts";
import { ownerKey, type Actor, type Role, type TokenRole, type UserRole } from "./actor.ts";
import { Credentials } from "./credentials.ts";
import { createSecret } from "./digest-map.ts";
import { LoginRateLimiter } from "./login-rate-limiter.ts";
import { commitRecorded, LOCAL_PUBLISHER, type FilePublisher } from "../pair/file-publisher.ts";
import type { SharedFile } from "../pair/shared-files.ts";

export type { AccessResult, Actor, CreatedToken, Login, Role, StartedSession, TokenRole, UserRole };

/**
 * Credentials: tokens for programs and operators, passwords for people, who log in to get a token
 * for an hour, and sessions of the operator's page. No secret can be read back: tokens and sessions
 * are stored as digests, passwords as argon2id.
 */
export class AccessControl {
  readonly #store: Store;
  readonly #file: AccessFile;
  readonly #now: () => number;
  readonly #passwords = new PasswordHasher();
  readonly #loginLimiter = new LoginRateLimiter();
  readonly #publisher: FilePublisher;
  readonly #changes = new TaskQueue();
  #credentials: Credentials;
  /** Something in memory differs from the file, because it could not be written. */
  #isUnsaved = false;

  constructor(store: Store, file: AccessFile, now: () => number, publisher = LOCAL_PUBLISHER) {
    this.#store = store;
    this.#file = file;
    this.#now = now;
    this.#publisher = publisher;
    this.#credentials = new Credentials(file.read());
  }

  /** In a pair: both hosts have the same tokens, users and sessions, but not the logins. */
  readonly sharedFile: SharedFile = {
    exclusively: (task) => this.#changes.runTask(task),
    read: async () => this.#encode(this.#credentials.list),
    replace: async (content) => {
      const list = parseAccessList(content);
      if (list === null) throw new FolderRefused("the access list has an unknown form", "");
      // First: a revoked token must not be valid because the disk is full.
      this.#credentials = new Credentials(list);
      this.#isUnsaved = false;
      await this.#file.replace(content);
    },
  };

  /** True: administration requires a credential, also on the machine itself. */
  isClaimed(): boolean {
    // An expired token counts: expiry must not open administration that was closed.
    return hasAdminCredential(this.#credentials.list);
  }

  /** The owner of a token; null: the token is not valid. */
  identify(token: string): Actor | null {
    const now = this.#now();
    if (this.#credentials.endExpired(now)) void this.#save();
    return this.#credentials.identify(token, now);
  }

  /** Called for each request that is admitted with a credential: so it never waits for the disk. */
  noteUse({ useKey }: Actor, address: string): void {
    const { lastUses } = this.#credentials;
    const now = this.#now();
    lastUses.note(useKey, { at: now, address });
    if (!lastUses.isSaveDue(now)) return;
    lastUses.markSaved(now);
    void this.#save();
  }

  /**
   * Saves which tokens and sessions have expired, so that setting the clock back does not revive
   * one. Called at the start, and after the clock was set back.
   */
  async persistExpiries(): Promise<void> {
    if (this.#credentials.endExpired(this.#now()) || this.#isUnsaved) void this.#save();
    await this.#changes.runTask(() => {});
  }

  /** Saves the last uses when the server stops. */
  async close(): Promise<void> {
    const { fault, folderChange } = this.#store.status();
    const isChanged = this.#isUnsaved || this.#credentials.lastUses.isChanged;
    // A folder that another process has changed is not this server's any more. On a full disk it is
    // worth a try: the new file may fit.
    const isWritable = fault?.code !== "storage_failed" && folderChange === null;
    if (isChanged && isWritable) void this.#save();
    await this.#changes.runTask(() => {});
  }

  /** Not in the audit log: no administrator decided this change. */
  #save(): Promise<void> {
    return this.#changes.runTask(async () => {
      // The next change, or the stop of the server, writes what could not be saved.
      this.#isUnsaved = true;
      try {
        const saved = await this.#commit(this.#credentials.list, async () => ok(null));
        this.#isUnsaved = !saved.ok;
        // If another host of the pair leads, this one gets its list.
        if (saved.ok || /^(?:standby|pair_read_only)$/.test(saved.fault.code)) return;
        throw new StorageError(saved.fault, null);
      } catch (error) {
        log.warn("could not save expiries, sessions and last uses", { error });
      }
    });
  }

  #encode(list: AccessList): Uint8Array {
    return encodeAccessList(this.#credentials.contentWith(list));
  }

  async #commit<F>(
    list: AccessList,
    record: () => Promise<Result<unknown, F>>,
  ): Promise<Result<null, F | StorageFault>> {
    const content = this.#encode(list);
    const refusal = this.#publisher.findRefusal(content);
    if (refusal !== null) return err(refusal);
    this.#credentials.lastUses.markSaved(this.#now());
    const prepared = await this.#file.prepare(content);
    return commitRecorded(this.#publisher, { content, prepared, record });
  }

  /** Checks a password, and returns a token that is valid for an hour. */
  async login(name: string, password: string, peer: string): Promise<Result<Login, AccessFault>> {
    const now = this.#now();
    if (!this.#loginLimiter.tryAcquire(peer, name, now)) return err({ code: "too_many_requests" });
    const user = this.#findUser(name);
    const isCorrect = await this.#passwords.verify(password, user?.argon2id ?? null);
    // The user may have been removed, or have got a new password, during the check.
    if (!isCorrect || user === undefined || this.#findUser(name)?.argon2id !== user.argon2id) {
      return err({ code: "unauthorized" });
    }
    this.#loginLimiter.release(peer, name);
    const login = this.#credentials.logins.start(name, user.role, now);
    this.noteUse(login.actor, peer);
    return ok(login);
  }

  #findUser(name: string): AccessList["users"][number] | undefined {
    return this.#credentials.list.users.find((entry) => entry.name === name);
  }

  /**
   * Starts a session of the operator's page with a token or a login. It is not refused if the disk
   * is full or the appliance was moved away: an operator must see that on the page. So it is not in
   * the audit log either, but in the access log.
   */
  async startSession(credential: string, address: string): AccessResult<StartedSession> {
    const actor = this.identify(credential);
    if (actor === null) return err({ code: "unauthorized", plane: "admin" });
    const started = this.#credentials.addSession(actor, this.#now(), address);
    if (started === null) return err({ code: "too_many_requests", busy: "sessions" });
    await this.#save();
    const { session, token } = started;
    const { id, name, endsAt } = session.row;
    return ok({ id, name, role: actor.role, token, endsAt });
  }

  /** Ends a session at once, even if that cannot be saved. */
  async revokeSession(id: string, peer: string): AccessResult<null> {
    return this.#changes.runTask(async (): Promise<Awaited<AccessResult<null>>> => {
      const session = this.#credentials.pageSessions.findById(id);
      if (session === null) return err({ code: "unknown_session" });
      this.#credentials.endSession(session);
      const { name } = session.row;
      return this.#write(this.#credentials.list, { change: "session_revoked", name, peer });
    });
  }

  async createToken(
    name: string,
    days: number | null,
    peer: string,
    role: TokenRole = "admin",
  ): AccessResult<CreatedToken> {
    return this.#change("token_made", name, peer, (list) => {
      if (list.tokens.some((entry) => entry.name === name)) return err({ code: "name_taken" });
      const token = createSecret();
      const madeAt = this.#now();
      const endsAt = days === null ? null : madeAt + days * DAY;
      const stored = role !== "admin" && { role };
      const entry = { name, sha256: hashToken(token), ...stored, madeAt, endsAt };
      return ok({
        list: { ...list, tokens: [...list.tokens, entry] },
        value: { name, token, role, endsAt },
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
  async setUser(name: string, role: UserRole, password: string, peer: string): AccessResult<null> {
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
    return this.#credentials.view(this.#now());
  }

  /**
   * Changes run one at a time: write the new file beside the old one, write the audit log, rename
   * the file, use the new list. So a full disk is noticed before the audit log claims a change.
   */
  #change<T>(
    change: Exclude<AccessChange, "session_revoked">,
    name: string,
    peer: string,
    edit: (list: AccessList) => Result<{ list: AccessList; value: T }, AccessFault>,
  ): AccessResult<T> {
    return this.#changes.runTask(async (): Promise<Awaited<AccessResult<T>>> => {
      const { list } = this.#credentials;
      const edited = edit(list);
      if (!edited.ok) return edited;
      // Without any administrator credential, administration would be open on this machine.
      if (hasAdminCredential(list) && !hasAdminCredential(edited.value.list)) {
        return err({ code: "last_credential" });
      }
      // Sessions of a changed owner end, even if the change could not be saved. Again after the
      // write: until then, the old credential can start another one.
      const type = change.startsWith("user_") ? "user" : "token";
      this.#credentials.endSessionsOf(type, name);
      const saved = await this.#write(edited.value.list, { change, name, peer });
      this.#credentials.endSessionsOf(type, name);
      if (!saved.ok) return saved;
      if (/_(?:revoked|removed)$/.test(change)) {
        this.#credentials.lastUses.forget(ownerKey(type, name));
      }
      return ok(edited.value.value);
    });
  }

  async #write(
    list: AccessList,
    command: Omit<ChangeAccess, "type">,
  ): Promise<Result<null, Fault | StorageFault>> {
    try {
      const saved = await this.#commit(list, () =>
        this.#store.transact({ type: "ChangeAccess", ...command }, () => null, null, "outcome"),
      );
      if (saved.ok) this.#credentials.list = list;
      else this.#isUnsaved = true;
      return saved;
    } catch (error) {
      if (errorCode(error) === null) throw error;
      log.error("could not save access changes", { error });
      // The file may be the old or the new one; the next start will use it, so this process does
      // too.
      this.#credentials.list = this.#file.read();
      this.#isUnsaved = true;
      return err(toStorageFault(error));
    }
  }
}

type AccessResult<T> = Promise<Result<T, Fault | StorageFault | AccessFault>>;

interface CreatedToken {
  readonly name: string;
  /** Shown only now; only its digest is stored. */
  readonly token: string;
  readonly role: TokenRole;
  readonly endsAt: number | null;
}

interface StartedSession {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** Sent only now; only its digest is stored. */
  readonly token: string;
  readonly endsAt: number;
}

interface Login {
  readonly actor: Actor;
  readonly token: string;
}
