import { TaskQueue } from "../schedule/task-queue.ts";

const MIN_LENGTH = 12;
const MAX_BYTES = 1_024;

/** Completes the sentence "password must be …". */
export const PASSWORD_RULE = `${MIN_LENGTH} characters or more, and at most ${MAX_BYTES} bytes`;

export const isAcceptablePassword = (text: string): boolean =>
  text.length >= MIN_LENGTH && Buffer.byteLength(text) <= MAX_BYTES;

const COST = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;

/**
 * Hashing is slow on purpose and needs memory. So only one hash is computed at a time: many login
 * attempts cannot use up the machine.
 */
export class PasswordHasher {
  readonly #queue = new TaskQueue();
  /** Compared for unknown users, so that the check takes as long as for existing ones. */
  #dummyHash: Promise<string> | null = null;

  hash(password: string): Promise<string> {
    return this.#queue.runTask(() => Bun.password.hash(password.normalize("NFC"), COST));
  }

  verify(password: string, hash: string | null): Promise<boolean> {
    return this.#queue.runTask(async () => {
      this.#dummyHash ??= Bun.password.hash(crypto.randomUUID(), COST);
      const expected = hash ?? (await this.#dummyHash);
      const isMatch = await Bun.password.verify(password.normalize("NFC"), expected);
      return hash !== null && isMatch;
    });
  }
}
