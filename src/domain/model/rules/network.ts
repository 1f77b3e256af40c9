/** An IP address as a number, so that networks can be compared. */
export interface IpAddress {
  readonly family: 4 | 6;
  readonly value: bigint;
}

export interface Network extends IpAddress {
  /** The length of the prefix. */
  readonly bits: number;
}

const OCTET = /^(?:0|[1-9]\d{0,2})$/;
const HEXTET = /^[0-9a-f]{1,4}$/i;
const IPV4_MAPPED = 0xffffn;

/** An address in any notation; an IPv4-mapped IPv6 address is an IPv4 address. Null: it is none. */
export function parseAddress(text: string): IpAddress | null {
  if (!text.includes(":")) {
    const value = parseIpv4(text);
    return value === null ? null : { family: 4, value };
  }
  const value = parseIpv6(text);
  if (value === null) return null;
  return value >> 32n === IPV4_MAPPED
    ? { family: 4, value: value & 0xffffffffn }
    : { family: 6, value };
}

/** A network such as `10.1.4.0/24`, or a single address. Null: it is none. */
export function parseNetwork(text: string): Network | null {
  const [base = "", prefix, ...rest] = text.split("/");
  const address = parseAddress(base);
  if (address === null || rest.length > 0) return null;
  const width = address.family === 4 ? 32 : 128;
  if (prefix === undefined) return { ...address, bits: width };
  // A mapped address counts the 96 bits before it.
  const mapped = address.family === 4 && base.includes(":") ? 96 : 0;
  if (!OCTET.test(prefix) || Number(prefix) - mapped > width || Number(prefix) < mapped) {
    return null;
  }
  return { ...address, bits: Number(prefix) - mapped };
}

/** The same network in one notation: without the bits after the prefix. */
export function clearHostBits({ family, value, bits }: Network): Network {
  const shift = BigInt((family === 4 ? 32 : 128) - bits);
  return { family, bits, value: (value >> shift) << shift };
}

export const formatNetwork = (network: Network): string =>
  `${formatAddress(network)}/${network.bits}`;

/** In IPv6 without the short form `::`. */
export function formatAddress({ family, value }: IpAddress): string {
  const [count, width, separator, radix] = family === 4 ? [4, 8n, ".", 10] : [8, 16n, ":", 16];
  const parts = Array.from({ length: count }, (_, index) => {
    const shift = BigInt(count - 1 - index) * width;
    return ((value >> shift) & ((1n << width) - 1n)).toString(radix);
  });
  return parts.join(separator);
}

/** The part of an IPv6 address that its machine cannot choose. */
const SUBNET_BITS = 64;

/**
 * What limits for each address count: an IPv4 address, or the subnet of an IPv6 address, because
 * one machine can use any of the 2^64 addresses of its subnet.
 */
export function limitKeyOf(address: string): string {
  const parsed = address.includes(":") ? parseAddress(address) : null;
  return parsed?.family === 6
    ? formatNetwork(clearHostBits({ ...parsed, bits: SUBNET_BITS }))
    : address;
}

export function isInNetwork(address: IpAddress, network: Network): boolean {
  if (address.family !== network.family) return false;
  const shift = BigInt((network.family === 4 ? 32 : 128) - network.bits);
  return address.value >> shift === network.value >> shift;
}

function parseIpv4(text: string): bigint | null {
  const octets = text.split(".");
  if (octets.length !== 4) return null;
  let value = 0n;
  for (const octet of octets) {
    if (!OCTET.test(octet) || Number(octet) > 255) return null;
    value = (value << 8n) | BigInt(octet);
  }
  return value;
}

function parseIpv6(text: string): bigint | null {
  const [head = "", tail, ...rest] = text.split("::");
  if (rest.length > 0) return null;
  const front = parseHextets(head, tail === undefined);
  const back = tail === undefined ? [] : parseHextets(tail, true);
  if (front === null || back === null) return null;
  const missing = 8 - front.length - back.length;
  if (tail === undefined ? missing !== 0 : missing < 1) return null;
  const all = [...front, ...Array<bigint>(missing).fill(0n), ...back];
  return all.reduce((value, part) => (value << 16n) | part, 0n);
}

/** The last part of an address may be an IPv4 address, which counts as two. */
function parseHextets(text: string, isEnd: boolean): bigint[] | null {
  if (text === "") return [];
  const parts = text.split(":");
  const values: bigint[] = [];
  for (const [index, part] of parts.entries()) {
    const ipv4 = isEnd && index === parts.length - 1 && part.includes(".") ? parseIpv4(part) : null;
    if (ipv4 !== null) values.push(ipv4 >> 16n, ipv4 & 0xffffn);
    else if (HEXTET.test(part)) values.push(BigInt(`0x${part}`));
    else return null;
  }
  return values;
}
