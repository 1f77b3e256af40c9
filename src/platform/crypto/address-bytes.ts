import { isIP } from "node:net";

/** The bytes of an IP address, as certificates hold it: 4 or 16. */
export function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split(".").map(Number));
  const [head = "", tail] = shortForm(address).split("::");
  const [left, right] = [groups(head), groups(tail ?? "")];
  const middle = tail === undefined ? [] : Array<number>(8 - left.length - right.length).fill(0);
  return Buffer.from([...left, ...middle, ...right].flatMap((group) => [group >> 8, group & 0xff]));
}

/** The IP address that has these bytes. */
export function addressText(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join(".");
  const text = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16));
  return shortForm(text.join(":"));
}

/** Hexadecimal groups only: an IPv6 address may also be written with an IPv4 address at its end. */
const shortForm = (address: string): string => new URL(`http://[${address}]`).hostname.slice(1, -1);

const groups = (text: string): number[] =>
  text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
