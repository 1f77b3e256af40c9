import type { AccessControl, Actor } from "../operations/access-control.ts";
import { isLoopback, normalizeAddress, SOCKET_PEER } from "../platform/networks.ts";
import { faultOf, refuse } from "./faults.ts";
import { isPage, routes, type Method, type Plane } from "./planes.ts";

/** How applications show who they are. */
export type ClientAuth = "open" | "login" | "mtls";

/** How a listener's requests are judged. */
export interface Gate {
  /** The socket's peer; null when it cannot be told. */
  readonly peerOf: (request: Request) => string | null;
  /** The unix socket: guarded by its file mode, so whoever speaks through it is an operator. */
  readonly isTrusted: boolean;
  readonly isTls: boolean;
  readonly isClient: (address: string) => boolean;
  /** Networks that may try to administer. */
  readonly isAdmin: (address: string) => boolean;
  readonly clientAuth: ClientAuth;
  /** A demo is for trying: administration is open to whoever may be a client. */
  readonly adminOpen: boolean;
  /** Credentials of other machines are taken over plain HTTP too: the operator said so. */
  readonly allowPlain: boolean;
  /** Names this server goes by, besides addresses and localhost. */
  readonly serverNames: readonly string[];
  /** Until what comes back is called, silence does not close the request's connection. */
  readonly keepOpen: (request: Request) => () => void;
  readonly access: Pick<AccessControl, "identify" | "isClaimed">;
}

/** For whoever can open the appliance's socket, or its folder itself. */
export const socketGate: Gate = {
  peerOf: () => null,
  isTrusted: true,
  isTls: false,
  isClient: () => true,
  isAdmin: () => true,
  clientAuth: "open",
  adminOpen: true,
  allowPlain: true,
  serverNames: [],
  keepOpen: () => () => {},
  access: { identify: () => null, isClaimed: () => false },
};

export interface Caller {
  /** Where it came from, read once, in one spelling; what a proxy claims counts for nothing. */
  readonly peer: string;
  /** Who showed a credential; null: nobody had to. */
  actor: Actor | null;
  /** Null: there is no such route. */
  plane: Plane | null;
}

/**
 * Lets a request pass to its handler or refuses it: is there such a route, was the server called by
 * its own name, is another site's page behind this, may this network call, may this caller do that,
 * and may a credential travel this way.
 */
export function admit(gate: Gate, request: Request, path: string): void {
  const peer = gate.isTrusted ? SOCKET_PEER : normalizeAddress(gate.peerOf(request) ?? "");
  const caller: Caller = { peer: peer ?? "unknown", actor: null, plane: null };
  callers.set(request, caller);
  const plane = (caller.plane = planeOf(request.method, path));
  if (gate.isTrusted) return;
  const { headers } = request;
  const shown = readCredential(gate, headers, plane);
  checkHost(gate, headers, plane, shown instanceof Object);
  if (isCrossSite(gate, headers, path)) refuse({ code: "cross_site" });
  if (peer === null || !isNetworkAllowed(gate, plane, peer)) {
    return refuse({ code: "forbidden", reason: "network" });
  }
  // Asked only where it matters: it looks through all headers.
  const isLocal = (): boolean => isLoopback(peer) && !isForwarded(headers);
  caller.actor = checkCredential(gate, plane, shown, isLocal);
  const isSecret = plane === "login" || shown !== null;
  const maybeBare = isSecret && !gate.isTls && !gate.allowPlain;
  if (maybeBare && !isLocal()) refuse({ code: "tls_required" });
  if (plane === "client" && gate.clientAuth === "mtls" && !gate.isTls) {
    refuse({ code: "tls_required" });
  }
}

/** Would it be let in now? What lasts is judged again while it does. */
export function isStillAdmitted(gate: Gate, request: Request, path: string): boolean {
  try {
    admit(gate, request, path);
    return true;
  } catch (error) {
    if (faultOf(error) === null) throw error;
    return false;
  }
}

function planeOf(method: string, path: string): Plane {
  const route = routes.get(path) ?? refuse({ code: "not_found" });
  const plane = Object.hasOwn(route, method) ? route[method as Method] : undefined;
  return plane ?? refuse({ code: "method_not_allowed", allow: Object.keys(route) });
}

/** The machine itself may always try to administer, and whoever may try may log in for it. */
function isNetworkAllowed({ isClient, isAdmin }: Gate, plane: Plane, peer: string): boolean {
  const mayAdminister = (): boolean => isLoopback(peer) || isAdmin(peer);
  if (plane === "admin") return mayAdminister();
  return isClient(peer) || (plane === "login" && mayAdminister());
}

const callers = new WeakMap<Request, Caller>();

/** Who sent a request; of one that was refused, what the gate saw by then. */
export const callerOf = (request: Request): Caller | null => callers.get(request) ?? null;

const BEARER = /^Bearer +([A-Za-z0-9._~+/=-]{1,512})$/i;

/** Null: none was shown, or none is asked for here. */
function readCredential(
  { access, clientAuth }: Gate,
  headers: Headers,
  plane: Plane,
): Actor | "wrong" | null {
  const asked = plane === "admin" || (plane === "client" && clientAuth === "login");
  const header = asked ? headers.get("authorization") : null;
  if (header === null) return null;
  const token = BEARER.exec(header)?.[1];
  return (token === undefined ? null : access.identify(token)) ?? "wrong";
}

/** Who it is; null: nobody in particular, and none is needed here. */
function checkCredential(
  { adminOpen, access, clientAuth }: Gate,
  plane: Plane,
  shown: Actor | "wrong" | null,
  isLocal: () => boolean,
): Actor | null {
  if (shown === "wrong") return refuse({ code: "unauthorized", plane });
  if (plane === "client" && clientAuth === "login" && shown === null) {
    return refuse({ code: "unauthorized", plane });
  }
  if (plane !== "admin") return shown;
  if (shown?.role === "user") refuse({ code: "forbidden", reason: "role" });
  if (shown !== null) return shown;
  // Once there is a credential, being on the machine is not enough: a proxy and a tunnel are too.
  if (access.isClaimed() || !(adminOpen || isLocal())) refuse({ code: "unauthorized", plane });
  return null;
}

const HOST = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_.])?))(?::\d{1,5})?$/i;

/**
 * Applications may use any DNS alias. A browser and an administrator may not: a foreign name that
 * leads here is how a web page reaches a server it has no business with.
 */
function checkHost(
  { serverNames }: Gate,
  headers: Headers,
  plane: Plane,
  hasCredential: boolean,
): void {
  const [whole, bracketed, plain = ""] = HOST.exec(headers.get("host") ?? "") ?? [];
  if (whole === undefined || (bracketed !== undefined && normalizeAddress(bracketed) === null)) {
    return refuse({ code: "wrong_host" });
  }
  if (hasCredential || (plane !== "admin" && !isBrowser(headers))) return;
  const name = plain.toLowerCase().replace(/\.$/, "");
  if (bracketed !== undefined || normalizeAddress(plain) !== null) return;
  if (name !== "localhost" && !serverNames.includes(name)) refuse({ code: "wrong_host" });
}

const ENGINE = /\b(?:AppleWebKit|Gecko|Trident)\//;

/**
 * At a plain address in the local network a browser may tell nothing but its own name, which no
 * page can change in a request to another site. Programs that call themselves Mozilla name no
 * engine.
 */
const isBrowser = (headers: Headers): boolean =>
  headers.has("origin") ||
  headers.has("sec-fetch-site") ||
  ENGINE.test(headers.get("user-agent") ?? "");

function isCrossSite({ isTls }: Gate, headers: Headers, path: string): boolean {
  if (headers.get("sec-fetch-mode") === "navigate") return !isPage(path);
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none") return true;
  const own = (): string => `${isTls ? "https" : "http"}://${headers.get("host")}`.toLowerCase();
  const origin = headers.get("origin");
  if (origin !== null && origin.toLowerCase() !== own()) return true;
  // A link to the page may come from anywhere.
  if (isPage(path)) return false;
  // All that an image from elsewhere tells at a plain address. It may keep that back; our page does
  // not, so a browser that says nothing at all was sent by somebody else.
  const referer = headers.get("referer");
  if (referer !== null) return !`${referer.toLowerCase()}/`.startsWith(`${own()}/`);
  return site === null && origin === null && isBrowser(headers);
}

const FORWARDING = ["forwarded", "x-real-ip", "via"];

/** Somebody stands between: the peer's address is the proxy's, not the caller's. */
function isForwarded(headers: Headers): boolean {
  if (FORWARDING.some((name) => headers.has(name))) return true;
  for (const name of headers.keys()) if (name.startsWith("x-forwarded-")) return true;
  return false;
}
