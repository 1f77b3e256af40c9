/** A code begins with 5 bits for its kind; whole bytes follow. */

export const CODE_KINDS = {
  activation: 1,
  weakActivation: 2,
  time: 3,
  /** The symbol Q: no number and no hexadecimal text begins with it. */
  orderKey: 23,
} as const;

export function prefixCodeKind(kind: number, rest: Uint8Array): Uint8Array {
  const all = (BigInt(kind) << BigInt(rest.length * 8)) | BigInt(`0x${hex(rest)}`);
  return Buffer.from((all << 3n).toString(16).padStart(2 * rest.length + 2, "0"), "hex");
}

/** Splits the bytes of a code: 5 bits for the kind, then whole bytes, then 3 bits of padding. */
export function splitCodeKind(bytes: Uint8Array): { readonly kind: number; readonly rest: string } {
  const length = (bytes.length - 1) * 8;
  const all = BigInt(`0x${hex(bytes)}`) >> 3n;
  const rest = all & ((1n << BigInt(length)) - 1n);
  return { kind: Number(all >> BigInt(length)), rest: rest.toString(16).padStart(length / 4, "0") };
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
