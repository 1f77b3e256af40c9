import { BlockList, isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { memoize } from "../memoize.ts";

/** Loopback, private and link-local networks: where the clients of an isolated site are. */
const PRIVATE_NETWORKS = [
  "127.0.0.0/8",
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "169.254.0.0/16",
  "::1/128",
  "fc00::/7",
  "fe80::/10",
];

/** More than the addresses of a usual site. */
const REMEMBERED_ADDRESSES = 16_384;

/** The normalized form of an address, without `::ffff:` and zone. Null when it is no address. */
export const normalizeAddress = memoize((address: string): string | null => {
  const [plain = ""] = address.toLowerCase().split("%", 1);
  const family = isIP(plain);
  if (family === 0) return null;
  return family === 6 && plain.includes(":ffff:") ? unmapIpv4(plain) : plain;
}, REMEMBERED_ADDRESSES);

/** The IPv4 address in an IPv4-mapped IPv6 address, in any notation of it. */
function unmapIpv4(address: string): string {
  const short = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(short) ?? [];
  if (high === undefined || low === undefined) return address;
  return [high, low]
    .map((half) => Number.parseInt(half, 16))
    .flatMap((half) => [half >> 8, half & 0xff])
    .join(".");
}

/** The peer of requests through the unix socket, in place of an address. */
export const SOCKET_PEER = "socket";

export const isLoopback = (address: string): boolean =>
  address === "::1" || (address.startsWith("127.") && isIP(address) === 4);

/** Whether an address is in one of `networks` (CIDR, or single addresses). */
export function createNetworkMatcher(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const parsed = parseNetwork(network);
    if (parsed === null) throw new Error(`not a network: ${network}`);
    list.addSubnet(parsed.address, parsed.bits, parsed.family);
  }
  return memoize(
    (address) => list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4"),
    REMEMBERED_ADDRESSES,
  );
}

export function parseNetwork(network: string) {
  const [address = "", bits, ...rest] = network.split("/");
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return null;
  const maxBits = family === 6 ? 128 : 32;
  if (bits !== undefined && !/^\d{1,3}$/.test(bits)) return null;
  const prefix = bits === undefined ? maxBits : Number(bits);
  if (prefix > maxBits) return null;
  return { address, bits: prefix, family: family === 6 ? ("ipv6" as const) : ("ipv4" as const) };
}

const REFRESH_INTERVAL = 30_000;

/** Private networks and the subnets of this machine's interfaces, refreshed periodically. */
export function createSiteNetworkMatcher(): (address: string) => boolean {
  let matches = createNetworkMatcher(PRIVATE_NETWORKS);
  let refreshAt = 0;
  return (address) => {
    const now = performance.now();
    if (now >= refreshAt) {
      matches = createNetworkMatcher(listSiteNetworks());
      refreshAt = now + REFRESH_INTERVAL;
    }
    return matches(address);
  };
}

/** Private networks and the subnets of this machine's interfaces. */
export const listSiteNetworks = (): string[] => [
  ...new Set([...PRIVATE_NETWORKS, ...machineSubnets()]),
];

function machineSubnets(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? []).flatMap(({ cidr }) => (cidr === null ? [] : [cidr])),
  );
}
