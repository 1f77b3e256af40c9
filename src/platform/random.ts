/** So many random bytes, in lower-case hex. */
export const randomBytes = (count: number): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(count))).toString("hex");

/** 128 bits: nobody guesses it, and no two are alike. */
export const randomId = (): string => randomBytes(16);

/** 256 bits for a header: letters, digits, `-` and `_`. */
export const randomToken = (): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
