import type { Door } from "../http/app.ts";
import type { Policy } from "../http/server.ts";

interface Standing {
  readonly policy: Policy;
  readonly isClaimed: boolean;
  /** Where it listens; null: nowhere. */
  readonly plain: string;
  readonly tls: string | null;
  readonly networks: readonly string[];
}

const LOCAL = /^(?:127\.|localhost:|\[::1\])/;

/** What stands open to whom, and how to close it: for `status`, and for whoever starts it. */
export function doorsOf({ policy, isClaimed, plain, tls, networks }: Standing): Door[] {
  const doors: Door[] = [];
  if (policy.adminOpen && !isClaimed) {
    doors.push({
      door: "a demo: whoever may call it may administer it, without a credential",
      close: "berth admin token, or berth serve for a site",
    });
  } else if (!isClaimed) {
    doors.push({
      door: "administration is open to whoever can connect from this machine, tunnels and proxies included",
      close: "berth admin token",
    });
  }
  if (policy.clientAuth === "open") {
    const whom = networks.join(", ") || "private networks and this machine's own";
    doors.push({
      door: `applications from ${whom} call without a login, in any user's name`,
      close: 'client_auth = "login" or "mtls"; --client-networks narrows it',
    });
  }
  if (!LOCAL.test(plain)) {
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
