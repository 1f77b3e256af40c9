import type { Exposure } from "../http/app.ts";
import type { AccessPolicy } from "../http/server.ts";
import type { AccessView } from "../operations/access-control.ts";
import { isLoopback, parseNetwork } from "../platform/networks.ts";
import { parseListenAddress } from "./listen-address.ts";

interface SecuritySettings {
  readonly policy: AccessPolicy;
  readonly isClaimed: boolean;
  readonly access: AccessView;
  /** HOST:PORT of each listener; null: there is none. */
  readonly plain: string;
  readonly tls: string | null;
  /** As they were set; none: the usual ones. */
  readonly clientNetworks: readonly string[];
  readonly adminNetworks: readonly string[];
}

/** Open access to the server, and how to restrict it: for `status` and for the start. */
export const findExposures = (standing: SecuritySettings): Exposure[] => [
  ...adminExposures(standing),
  ...clientExposures(standing),
  ...networkExposures("applications", "--client-networks", standing.clientNetworks),
  ...networkExposures("administrators", "--admin-networks", standing.adminNetworks),
  ...plainHttpExposures(standing),
];

export const describeNetworks = (given: readonly string[]): string =>
  given.join(", ") || "private networks and this machine's subnets";

function adminExposures({ policy, isClaimed, access: { tokens } }: SecuritySettings): Exposure[] {
  if (isClaimed) {
    return tokens
      .filter(({ endsAt }) => endsAt === null)
      .map(({ name }) => ({
        finding: `the token ${name} never expires`,
        remedy: `${name === "service" ? "berth service install" : "berth admin token --name NEW"} creates a token that expires; then run berth admin token revoke ${name}`,
      }));
  }
  if (!policy.adminOpen) {
    const finding =
      "administration is open to everything that connects from this machine, including tunnels and proxies";
    return [{ finding, remedy: "create a credential with berth admin token" }];
  }
  const finding = "demo: every client can administer it without a credential";
  return [
    {
      finding,
      remedy: "create a credential with berth admin token, or use berth serve for production",
    },
  ];
}

function clientExposures({ policy, clientNetworks }: SecuritySettings): Exposure[] {
  if (policy.clientAuth !== "open") return [];
  const whom = describeNetworks(clientNetworks);
  return [
    {
      finding: `applications from ${whom} can call without a login and in any user's name`,
      remedy:
        'set client_auth = "login" or "mtls", or restrict the networks with --client-networks',
    },
  ];
}

/** Wider than any site: a slip, or a wish that should be seen. */
const MIN_PREFIX_BITS = 7;

function networkExposures(who: string, flag: string, given: readonly string[]): Exposure[] {
  const wide = given.filter(
    (network) => (parseNetwork(network)?.bits ?? MIN_PREFIX_BITS) < MIN_PREFIX_BITS,
  );
  if (wide.length === 0) return [];
  const finding = `${who} can connect from ${wide.join(", ")}, which is larger than one site`;
  return [{ finding, remedy: `set ${flag} to the site's own networks` }];
}

function plainHttpExposures({ policy, plain, tls }: SecuritySettings): Exposure[] {
  const doors: Exposure[] = [];
  const host = parseListenAddress(plain)?.host ?? "";
  if (host !== "localhost" && !isLoopback(host)) {
    doors.push({
      finding: `plain HTTP on ${plain}: traffic can be read and changed on the network`,
      remedy:
        tls === null
          ? "run berth tls init, then set --listen-tls HOST:PORT and --listen 127.0.0.1:8080"
          : "set --listen 127.0.0.1:8080 once every application uses TLS",
    });
  }
  if (policy.allowPlain) {
    doors.push({
      finding: "tokens and passwords from other machines are accepted over plain HTTP",
      remedy: "remove allow_plain_credentials",
    });
  }
  return doors;
}
