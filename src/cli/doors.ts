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

/** What stands open to whom, and how to close it: for `status`, and for whoever starts it. */
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
        door: `the token ${name} never ends`,
        close: `${name === "service" ? "berth service install" : "berth admin token --name NEW"} makes one that ends; then berth admin token revoke ${name}`,
      }));
  }
  if (!policy.adminOpen) {
    const door =
      "administration is open to whoever can connect from this machine, tunnels and proxies included";
    return [{ door, close: "berth admin token" }];
  }
  const door = "a demo: whoever may call it may administer it, without a credential";
  return [{ door, close: "berth admin token, or berth serve for a site" }];
}

function applications({ policy, clientNetworks }: Standing): Door[] {
  if (policy.clientAuth !== "open") return [];
  const whom = networksText(clientNetworks);
  return [
    {
      door: `applications from ${whom} call without a login, in any user's name`,
      close: 'client_auth = "login" or "mtls"; --client-networks narrows it',
    },
  ];
}

/** Wider than any site: a slip, or a wish that should be seen. */
const WIDE = 7;

function networks(who: string, flag: string, given: readonly string[]): Door[] {
  const wide = given.filter((network) => (parseNetwork(network)?.bits ?? WIDE) < WIDE);
  if (wide.length === 0) return [];
  const door = `${who} may come from ${wide.join(", ")}: that is not one site`;
  return [{ door, close: `${flag} with the site's own networks` }];
}

function plainHttp({ policy, plain, tls }: Standing): Door[] {
  const doors: Door[] = [];
  const host = parseListen(plain)?.host ?? "";
  if (host !== "localhost" && !isLoopback(host)) {
    doors.push({
      door: `plain HTTP on ${plain}: whoever listens on the network reads and changes it`,
      close:
        tls === null
          ? "berth tls init, then --listen-tls HOST:PORT and --listen 127.0.0.1:8080"
          : "--listen 127.0.0.1:8080, once every application uses TLS",
    });
  }
  if (policy.allowPlain) {
    doors.push({
      door: "tokens and passwords from other machines are taken over plain HTTP",
      close: "leave out allow_plain_credentials",
    });
  }
  return doors;
}
