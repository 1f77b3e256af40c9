import type { Door } from "../http/app.ts";
import type { Policy } from "../http/server.ts";
import type { AccessView } from "../operations/access.ts";
import { isLoopback, parseNetwork } from "../platform/networks.ts";
import { parseListen } from "./listen.ts";

interface Standing {
  readonly policy: Policy;
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
export const doorsOf = (standing: Standing): Door[] => [
  ...administration(standing),
  ...applications(standing),
  ...networks("applications", "--client-networks", standing.clientNetworks),
  ...networks("administrators", "--admin-networks", standing.adminNetworks),
  ...plainHttp(standing),
];

export const networksText = (given: readonly string[]): string =>
  given.join(", ") || "private networks and this machine's own";

function administration({ policy, isClaimed, access: { tokens } }: Standing): Door[] {
  if (isClaimed) {
    return tokens
      .filter(({ endsAt }) => endsAt === null)
      .map(({ name }) => ({
        finding: `the token ${name} never expires`,
        remedy: `create one that expires with ${name === "service" ? "berth service install" : "berth admin token --name NEW"}; then berth admin token revoke ${name}`,
      }));
  }
  if (!policy.adminOpen) {
    const finding =
      "administration is open to every connection from this machine, including tunnels and proxies";
    return [{ finding, remedy: "berth admin token" }];
  }
  const finding = "demo: every client may administer the server without a credential";
  return [{ finding, remedy: "berth admin token, or berth serve for a site" }];
}

function applications({ policy, clientNetworks }: Standing): Door[] {
  if (policy.clientAuth !== "open") return [];
  const whom = networksText(clientNetworks);
  return [
    {
      finding: `applications from ${whom} call without a login, in any user's name`,
      remedy: 'client_auth = "login" or "mtls"; --client-networks restricts the networks',
    },
  ];
}

/** Wider than any site: a slip, or a wish that should be seen. */
const WIDE = 7;

function networks(who: string, flag: string, given: readonly string[]): Door[] {
  const wide = given.filter((network) => (parseNetwork(network)?.bits ?? WIDE) < WIDE);
  if (wide.length === 0) return [];
  const finding = `${who} may connect from ${wide.join(", ")}: more than one site`;
  return [{ finding, remedy: `${flag} with the site's own networks` }];
}

function plainHttp({ policy, plain, tls }: Standing): Door[] {
  const doors: Door[] = [];
  const host = parseListen(plain)?.host ?? "";
  if (host !== "localhost" && !isLoopback(host)) {
    doors.push({
      finding: `plain HTTP on ${plain}: traffic can be read and changed on the network`,
      remedy:
        tls === null
          ? "berth tls init, then --listen-tls HOST:PORT and --listen 127.0.0.1:8080"
          : "--listen 127.0.0.1:8080, once every application uses TLS",
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
