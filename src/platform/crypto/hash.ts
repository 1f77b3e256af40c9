/** SHA-256 in lower-case hex. */
export const sha256 = (data: string | Uint8Array<ArrayBuffer>): string =>
  Bun.SHA256.hash(data, "hex");

/** The previous checksum of the first line of a chain. */
export const GENESIS = "0".repeat(64);
