const MIN_LENGTH = 12;
const MAX_BYTES = 1_024;

/** Words that finish "password must be …". */
export const PASSWORD_RULE = `${MIN_LENGTH} characters or more, and at most ${MAX_BYTES} bytes`;

export const isAcceptablePassword = (text: string): boolean =>
  text.length >= MIN_LENGTH && Buffer.byteLength(text) <= MAX_BYTES;

const COST = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;

/**
 * Hashing is slow on purpose, and takes memory: one at a time, however many ask, so that a crowd of
 * guesses cannot take the machine.
 */
export class PasswordHasher {
  #turn: Promise<unknown> = Promise.resolve();
  /** What an unknown user's password is held against, so that it takes as long as a known one's. */
  #nobodys: Promise<string> | null = null;

  hash(password: string): Promise<string> {
    return this.#inTurn(() => Bun.password.hash(password.normalize("NFC"), COST));
  }

  verify(password: string, hash: string | null): Promise<boolean> {
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
