/**
 * `touch`: the user was in contact. `offer`: a slot is held for the user from now on. `leave`: the
 * user closed the connection of a waiting request.
 */
export type ContactChange = "touch" | "offer" | "leave";

/**
 * When the users who wait for one product were last in contact, without those who have a waiting
 * request. It is only in memory: after a start every place has a full term again.
 */
export class PlaceContacts {
  /** By user, the earliest contact first. */
  readonly #lastContacts = new Map<string, number>();
  /** Those who closed their connection, and were not in contact since. */
  readonly #gone = new Set<string>();

  /** Null: the user has a waiting request, or no place. */
  lastContactOf(user: string): number | null {
    return this.#lastContacts.get(user) ?? null;
  }

  touch(user: string, now: number): void {
    this.#gone.delete(user);
    // Deleted and added again, so that it becomes the last one.
    this.#lastContacts.delete(user);
    this.#lastContacts.set(user, now);
  }

  /** A user who polls has the full time to collect the slot; one who has gone has what is left. */
  offer(user: string, now: number): void {
    if (!this.#gone.has(user)) this.touch(user, now);
  }

  leave(user: string, now: number): void {
    this.touch(user, now);
    this.#gone.add(user);
  }

  /** The user has a waiting request from now on, or no place. */
  forget(user: string): void {
    this.#gone.delete(user);
    this.#lastContacts.delete(user);
  }

  /** The first `count` users whose last contact was at `limit` or before, the earliest first. */
  listSilentSince(limit: number, count: number): string[] {
    const users: string[] = [];
    for (const [user, lastContact] of this.#lastContacts) {
      if (lastContact > limit || users.length >= count) break;
      users.push(user);
    }
    return users;
  }

  /** Null: there is none. */
  earliestContact(): number | null {
    const [first] = this.#lastContacts.values();
    return first ?? null;
  }
}
