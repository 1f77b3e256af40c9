/** SHA-256 in lower-case hex. */
export const sha256 = (data: string | Uint8Array<ArrayBuffer>): string =>
  Bun.SHA256.hash(data, "hex");

/** What the first line of a chain points back to. */
export const GENESIS = "0".repeat(64);
