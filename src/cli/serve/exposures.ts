import type { Exposure } from "../../http/services.ts";
import type { AccessPolicy } from "../../http/server.ts";
import type { AccessControl } from "../../operations/access-control.ts";
import { isLoopback, parseNetwork } from "../../platform/network/networks.ts";
import { formatListenAddress } from "./listen-address.ts";
import type { ServeSettings } from "./settings.ts";

interface Security {
  readonly policy: AccessPolicy;
  readonly access: AccessControl;
  readonly settings: Pick<
    ServeSettings,
    "listen" | "listenTls" | "clientNetworks" | "adminNetworks"
  >;
}

/** Open access to the server, and how to restrict it: for `status` and for the start. */
export const findExposures = (security: Security): Exposure[] => {
  const { clientNetworks, adminNetworks } = security.settings;
  return [
    ...adminExposures(security),
    ...clientExposures(security),
    ...networkExposures("applications", "--client-networks", clientNetworks),
    ...networkExposures("administrators", "--admin-networks", adminNetworks),
    ...plainHttpExposures(security),
  ];
};

export const describeNetworks = (networks: readonly string[]): string =>
  networks.join(", ") || "private networks and this machine's subnets";

function adminExposures({ policy, access }: Security): Exposure[] {
  if (access.isClaimed()) {
    return access
      .list()
      .tokens.filter(({ endsAt }) => endsAt === null)
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

function clientExposures({ policy, settings }: Security): Exposure[] {
  if (policy.clientAuth !== "open") return [];
  const networks = describeNetworks(settings.clientNetworks);
  return [
    {
      finding: `applications from ${networks} can call without a login and in any user's name`,
      remedy:
        'set client_auth = "login" or "mtls", or restrict the networks with --client-networks',
    },
  ];
}

/** A network with fewer bits is larger than any site: a mistake, or a choice to be made visible. */
const MIN_PREFIX_BITS = 7;

function networkExposures(group: string, flag: string, networks: readonly string[]): Exposure[] {
  const wide = networks.filter(
    (network) => (parseNetwork(network)?.bits ?? MIN_PREFIX_BITS) < MIN_PREFIX_BITS,
  );
  if (wide.length === 0) return [];
  const finding = `${group} can connect from ${wide.join(", ")}, which is larger than one site`;
  return [{ finding, remedy: `set ${flag} to the site's own networks` }];
}

function plainHttpExposures({ policy, settings }: Security): Exposure[] {
  const exposures: Exposure[] = [];
  const { listen, listenTls } = settings;
  const { host } = listen;
  if (host !== "localhost" && !isLoopback(host)) {
    exposures.push({
      finding: `plain HTTP on ${formatListenAddress(listen)}: traffic can be read and changed on the network`,
      remedy:
        listenTls === null
          ? "run berth tls init, then set --listen-tls HOST:PORT and --listen 127.0.0.1:8080"
          : "set --listen 127.0.0.1:8080 once every application uses TLS",
    });
  }
  if (policy.allowPlain) {
    exposures.push({
      finding: "tokens and passwords from other machines are accepted over plain HTTP",
      remedy: "remove allow_plain_credentials",
    });
  }
  return exposures;
}
