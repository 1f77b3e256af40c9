/** So many random bytes, in lower-case hex. */
export const randomBytes = (count: number): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(count))).toString("hex");

/** 128 bits: nobody guesses it, and no two are alike. */
export const randomId = (): string => randomBytes(16);
