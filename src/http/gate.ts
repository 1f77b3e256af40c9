import { isLoopback, normalAddress } from "../platform/networks.ts";
import { refuse } from "./faults.ts";
import { isPage, routes, type Method, type Plane } from "./planes.ts";

/** How a listener's requests are judged. */
export interface Gate {
  /** The socket's peer; null when it cannot be told. */
  readonly peerOf: (request: Request) => string | null;
  /** The unix socket: guarded by its file mode, so whoever speaks through it is an operator. */
  readonly trusted: boolean;
  readonly isClient: (address: string) => boolean;
  /** A demo is for trying: administration is open to whoever may be a client. */
  readonly adminOpen: boolean;
  /** Names this server goes by, besides addresses and localhost. */
  readonly names: readonly string[];
}

/** For whoever can open the appliance's socket, or its folder itself. */
export const socketGate: Gate = {
  peerOf: () => null,
  trusted: true,
  isClient: () => true,
  adminOpen: true,
  names: [],
};

/**
 * Lets a request pass to its handler or refuses it: is there such a route, was the server called by
 * its own name, is another site's page behind this, may this network call, may it administer.
 * Returns the address it came from, read once, in one spelling; what a proxy claims about somebody
 * else counts for nothing.
 */
export function admit(gate: Gate, request: Request, path: string): string {
  const route = routes.get(path);
  if (route === undefined) return refuse({ code: "not_found" });
  const plane = Object.hasOwn(route, request.method) ? route[request.method as Method] : undefined;
  if (plane === undefined) {
    return refuse({ code: "method_not_allowed", allow: Object.keys(route) });
  }
  if (gate.trusted) return "socket";
  const { headers } = request;
  checkHost(gate, headers, plane);
  if (isCrossSite(headers, path)) refuse({ code: "cross_site" });
  const peer = normalAddress(gate.peerOf(request) ?? "");
  if (peer === null || !gate.isClient(peer)) return refuse({ code: "forbidden" });
  const open = plane === "client" || gate.adminOpen;
  if (!open && (!isLoopback(peer) || isForwarded(headers))) refuse({ code: "unauthorized" });
  return peer;
}

const HOST = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_.])?))(?::\d{1,5})?$/i;

/**
 * Applications may use any DNS alias. A browser and an administrator may not: a foreign name that
 * leads here is how a web page reaches a server it has no business with.
 */
function checkHost({ names }: Gate, headers: Headers, plane: Plane): void {
  const [whole, bracketed, plain = ""] = HOST.exec(headers.get("host") ?? "") ?? [];
  if (whole === undefined || (bracketed !== undefined && normalAddress(bracketed) === null)) {
    return refuse({ code: "wrong_host" });
  }
  const fromBrowser = headers.has("origin") || headers.has("sec-fetch-site");
  if (plane === "client" && !fromBrowser) return;
  const name = plain.toLowerCase().replace(/\.$/, "");
  if (bracketed !== undefined || normalAddress(plain) !== null) return;
  if (name !== "localhost" && !names.includes(name)) refuse({ code: "wrong_host" });
}

function isCrossSite(headers: Headers, path: string): boolean {
  if (headers.get("sec-fetch-mode") === "navigate") return !isPage(path);
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none") return true;
  const own = `http://${headers.get("host")}`.toLowerCase();
  const origin = headers.get("origin");
  if (origin !== null && origin.toLowerCase() !== own) return true;
  // All that an image from elsewhere tells on a plain address; a link to the page may tell it too.
  const referer = headers.get("referer");
  return referer !== null && !isPage(path) && !`${referer.toLowerCase()}/`.startsWith(`${own}/`);
}

const FORWARDING = ["forwarded", "x-real-ip", "via"];

/** Somebody stands between: the peer's address is the proxy's, not the caller's. */
function isForwarded(headers: Headers): boolean {
  if (FORWARDING.some((name) => headers.has(name))) return true;
  for (const name of headers.keys()) if (name.startsWith("x-forwarded-")) return true;
  return false;
}
