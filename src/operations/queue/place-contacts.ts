/**
 * When the users who wait for one product were last in contact, without those who have a waiting
 * request. It is only in memory: after a start every place has a full term again.
 */
export class PlaceContacts {
  /** By user, the earliest contact first. */
  readonly #lastContacts = new Map<string, number>();

  /** Null: the user has a waiting request, or no place. */
  lastContactOf(user: string): number | null {
    return this.#lastContacts.get(user) ?? null;
  }

  /** The user was in contact, or a slot is held for the user from now on. */
  touch(user: string, now: number): void {
    // Deleted and added again, so that it becomes the last one.
    this.#lastContacts.delete(user);
    this.#lastContacts.set(user, now);
  }

  /** The user has a waiting request from now on, or no place. */
  forget(user: string): void {
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
