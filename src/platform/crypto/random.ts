/** `count` random bytes, in lower-case hex. */
export const randomBytes = (count: number): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(count))).toString("hex");

/** 128 bits: cannot be guessed, and never repeats. */
export const randomId = (): string => randomBytes(16);

/** 256 bits in letters, digits, `-` and `_`, for use in a header. */
export const randomToken = (): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
