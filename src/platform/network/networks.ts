import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import {
  formatAddress,
  isInNetwork,
  parseAddress,
  parseNetwork,
} from "../../domain/model/rules/network.ts";
import { withReserve } from "../files/descriptor-reserve.ts";
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
  const parsed = parseAddress(plain);
  return parsed?.family === 4 ? formatAddress(parsed) : parsed && plain;
}, REMEMBERED_ADDRESSES);

/** The peer of requests through the unix socket, in place of an address. */
export const SOCKET_PEER = "socket";

export const isLoopback = (address: string): boolean =>
  address === "::1" || (address.startsWith("127.") && isIP(address) === 4);

/** Whether an address is in one of `networks` (CIDR, or single addresses). */
export function createNetworkMatcher(networks: readonly string[]): (address: string) => boolean {
  const parsed = networks.map((text) => {
    const network = parseNetwork(text);
    if (network === null) throw new Error(`not a network: ${text}`);
    return network;
  });
  return memoize((text) => {
    const address = parseAddress(text);
    return address !== null && parsed.some((network) => isInNetwork(address, network));
  }, REMEMBERED_ADDRESSES);
}

const REFRESH_INTERVAL = 30_000;

/** Private networks and the subnets of this machine's interfaces, refreshed periodically. */
export function createSiteNetworkMatcher(
  listInterfaces = networkInterfaces,
  getTime = () => performance.now(),
): (address: string) => boolean {
  let matches = createNetworkMatcher(PRIVATE_NETWORKS);
  let refreshAt = 0;
  return (address) => {
    const now = getTime();
    if (now >= refreshAt) {
      const subnets = listSubnets(listInterfaces);
      if (subnets !== null) matches = createNetworkMatcher([...PRIVATE_NETWORKS, ...subnets]);
      refreshAt = now + REFRESH_INTERVAL;
    }
    return matches(address);
  };
}

/** Private networks and the subnets of this machine's interfaces. */
export const listSiteNetworks = (): string[] => [
  ...new Set([...PRIVATE_NETWORKS, ...(listSubnets(networkInterfaces) ?? [])]),
];

/** Null: the system does not say now, as when the process has no free file descriptor. */
function listSubnets(listInterfaces: typeof networkInterfaces): string[] | null {
  try {
    return Object.values(withReserve(listInterfaces)).flatMap((addresses) =>
      (addresses ?? []).flatMap(({ cidr }) =>
        cidr !== null && parseNetwork(cidr) !== null ? [cidr] : [],
      ),
    );
  } catch {
    return null;
  }
}
