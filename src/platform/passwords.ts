const SHORTEST = 12;
const LONGEST_BYTES = 1_024;

/** Words that finish "password must be …". */
export const PASSWORD_RULE = `${SHORTEST} characters or more, and at most ${LONGEST_BYTES} bytes`;

export const isAcceptablePassword = (text: string): boolean =>
  text.length >= SHORTEST && Buffer.byteLength(text) <= LONGEST_BYTES;

const COST = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;

/**
 * Hashing is slow on purpose, and takes memory: one at a time, however many ask, so that a crowd of
 * guesses cannot take the machine.
 */
export class Passwords {
  #turn: Promise<unknown> = Promise.resolve();
  /** What an unknown user's password is held against, so that it takes as long as a known one's. */
  #nobodys: Promise<string> | null = null;

  hash(password: string): Promise<string> {
    return this.#inTurn(() => Bun.password.hash(password.normalize("NFC"), COST));
  }

  check(password: string, hash: string | null): Promise<boolean> {
    return this.#inTurn(async () => {
      this.#nobodys ??= Bun.password.hash(crypto.randomUUID(), COST);
      const against = hash ?? (await this.#nobodys);
      const same = await Bun.password.verify(password.normalize("NFC"), against);
      return hash !== null && same;
    });
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(step);
    this.#turn = done.catch(() => {});
    return done;
  }
}
