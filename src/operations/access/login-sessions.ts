import { HOUR } from "../../domain/time.ts";
import { ownerKey, type Actor, type Role } from "./actor.ts";
import { createSecret, DigestMap, hashToken } from "./digest-map.ts";

const LOGIN_DURATION = HOUR;
const MAX_LOGINS = 10_000;

interface LoginSession {
  readonly actor: Actor;
  readonly madeAt: number;
  readonly endsAt: number;
}

/** The logins at /auth; a restart ends them. */
export class LoginSessions {
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
