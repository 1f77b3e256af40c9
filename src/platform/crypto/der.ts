/** DER, the encoding of certificates: just enough to write and read Berth's own. */

/** A DER value: tag, length, content. */
export function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  if (length > 0xffff) throw new Error("too long for a certificate");
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

export const sequence = (...parts: readonly Buffer[]): Buffer => tagged(0x30, ...parts);
export const integer = (bytes: Buffer): Buffer => tagged(2, bytes);
export const boolean = (value: boolean): Buffer => tagged(1, Buffer.from([value ? 0xff : 0]));

export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const groups = [part & 0x7f];
    for (let left = part >>> 7; left > 0; left >>>= 7) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return tagged(6, Buffer.from(bytes));
}

export interface DerValue {
  readonly tag: number;
  readonly content: Buffer;
}

/** Parses consecutive DER values, as the functions above write them. */
export function parseDerValues(bytes: Buffer): DerValue[] {
  const parts: DerValue[] = [];
  for (let at = 0; at + 2 <= bytes.length;) {
    const [tag = 0, first = 0] = bytes.subarray(at, at + 2);
    const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
    const length = lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes);
    const from = at + 2 + lengthBytes;
    parts.push({ tag, content: bytes.subarray(from, from + length) });
    at = from + length;
  }
  return parts;
}
