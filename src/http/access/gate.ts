import type { AccessControl, Actor } from "../../operations/access/access-control.ts";
import { isLoopback, normalizeAddress, SOCKET_PEER } from "../../platform/network/networks.ts";
import { faultOf, refuse } from "../faults.ts";
import type { Plane } from "./planes.ts";
import { isCrossSite, parseHost, readRequestOrigin, type RequestOrigin } from "./request-origin.ts";
import { findRoute, pathOf, type RouteAccess, type RouteTable } from "./route-table.ts";
import { WaitingCount } from "./waiting-count.ts";

/** How applications authenticate. */
export type ClientAuth = "open" | "login" | "mtls";

/** The access rules of a listener. */
export interface Gate {
  /** Address of the connection's peer; null when it is unknown. */
  readonly peerOf: (request: Request) => string | null;
  /** The unix socket: its file mode admits only operators, so its requests are not checked. */
  readonly isTrusted: boolean;
  readonly isTls: boolean;
  readonly isClient: (address: string) => boolean;
  /** Networks from which administration is accepted, with a credential. */
  readonly isAdmin: (address: string) => boolean;
  readonly clientAuth: ClientAuth;
  /** In a demo, administration is open to every address of the client networks. */
  readonly adminOpen: boolean;
  /** The setting allow_plain_credentials: other machines may send credentials over plain HTTP. */
  readonly allowPlain: boolean;
  /** Host names of this server, besides addresses and localhost. */
  readonly serverNames: readonly string[];
  /**
   * Turns off the idle timeout of the request's connection until the returned function is called.
   */
  readonly keepOpen: (request: Request) => () => void;
  readonly waitingCount: WaitingCount;
  readonly access: Pick<AccessControl, "identify" | "isClaimed" | "noteUse">;
}

/** For callers that can open the appliance's socket, or its data folder itself. */
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
  waitingCount: new WaitingCount(),
  access: { identify: () => null, isClaimed: () => false, noteUse: () => {} },
};

export interface Caller {
  /** Normalized address of the peer, read once. Forwarding headers of a proxy do not change it. */
  readonly peer: string;
  /** Owner of the credential; null: the request has none and needs none. */
  actor: Actor | null;
  /** Null: no route has this path and method. */
  route: RouteAccess | null;
  /** How long the request has waited for a slot. */
  waitedMs: number;
}

/**
 * Admits a request to its handler, or refuses it. Checks in this order: the route, the host name,
 * cross-site requests, the network, the credential and its role, and whether TLS is required.
 */
export function admit(gate: Gate, table: RouteTable, request: Request): void {
  const peer = gate.isTrusted ? SOCKET_PEER : normalizeAddress(gate.peerOf(request) ?? "");
  const caller: Caller = { peer: peer ?? UNKNOWN_PEER, actor: null, route: null, waitedMs: 0 };
  callers.set(request, caller);
  const route = (caller.route = findRoute(table, request.method, pathOf(request.url)));
  if (!gate.isTrusted) checkAccess(gate, request, caller, route);
}

/** Repeats the check for a request that is still open, such as a stream. */
export function isStillAdmitted(gate: Gate, request: Request): boolean {
  const caller = callerOf(request);
  if (caller?.route == null) return false;
  try {
    if (!gate.isTrusted) checkAccess(gate, request, caller, caller.route);
    return true;
  } catch (error) {
    if (faultOf(error) === null) throw error;
    return false;
  }
}

const UNKNOWN_PEER = "unknown";

/** Refuses the caller, or sets the owner of its credential. */
function checkAccess(gate: Gate, { headers }: Request, caller: Caller, route: RouteAccess): void {
  const { peer } = caller;
  const { plane, isPage } = route;
  const credential = readCredential(gate, headers, plane);
  const origin = readRequestOrigin(headers);
  checkHost(gate, origin, plane, credential instanceof Object);
  if (isCrossSite(origin, gate.isTls, isPage)) refuse({ code: "cross_site" });
  if (peer === UNKNOWN_PEER || !isNetworkAllowed(gate, plane, peer)) {
    return refuse({ code: "forbidden", reason: "network" });
  }
  caller.actor = checkCredential(gate, route, credential, peer, headers);
  const hasSecret = plane === "login" || credential !== null;
  const isPlainRefused = hasSecret && !gate.isTls && !gate.allowPlain;
  if (isPlainRefused && !isLocal(peer, headers)) refuse({ code: "tls_required" });
  if (plane === "client" && gate.clientAuth === "mtls" && !gate.isTls) {
    refuse({ code: "tls_required" });
  }
  if (caller.actor !== null) gate.access.noteUse(caller.actor, peer);
}

/**
 * Administration is always possible from this machine. Where it is possible, so are a login, the
 * page and the health check: client networks that exclude operators would lock them out otherwise.
 */
function isNetworkAllowed({ isClient, isAdmin }: Gate, plane: Plane, peer: string): boolean {
  if (plane !== "admin" && isClient(peer)) return true;
  return plane !== "client" && (isLoopback(peer) || isAdmin(peer));
}

/** Whether a request comes from this machine, and not through a proxy on it. */
export const isLocalRequest = (request: Request): boolean =>
  isLocal(callerOf(request)?.peer ?? UNKNOWN_PEER, request.headers);

const callers = new WeakMap<Request, Caller>();

/** The caller of a request; of a refused one, as far as it had been determined. */
export const callerOf = (request: Request): Caller | null => callers.get(request) ?? null;

const BEARER = /^Bearer +([A-Za-z0-9._~+/=-]{1,512})$/i;

/** Null: the request has no credential, or the plane does not use one. */
function readCredential(
  { access, clientAuth }: Gate,
  headers: Headers,
  plane: Plane,
): Actor | "wrong" | null {
  const usesCredential = plane === "admin" || (plane === "client" && clientAuth === "login");
  const header = usesCredential ? headers.get("authorization") : null;
  if (header === null) return null;
  const token = readBearer(header);
  return (token === null ? null : access.identify(token)) ?? "wrong";
}

/** The token of an Authorization header; null: it has none. */
export const readBearer = (header: string): string | null => BEARER.exec(header)?.[1] ?? null;

/** The owner of the credential; null: there is none, and none is needed here. */
function checkCredential(
  { adminOpen, access, clientAuth }: Gate,
  { plane, allowsViewers, allowsMetrics }: RouteAccess,
  credential: Actor | "wrong" | null,
  peer: string,
  headers: Headers,
): Actor | null {
  if (credential === "wrong") return refuse({ code: "unauthorized", plane });
  if (plane === "client" && clientAuth === "login" && credential === null) {
    return refuse({ code: "unauthorized", plane });
  }
  if (credential?.role === "metrics" && !allowsMetrics) {
    refuse({ code: "forbidden", reason: "metrics" });
  }
  // A person who views may also use applications. A viewer's token is for monitoring only.
  const isOwnUse = plane === "client" && credential?.credentialType === "user";
  if (credential?.role === "viewer" && !allowsViewers && !isOwnUse) {
    refuse({ code: "forbidden", reason: "viewer" });
  }
  if (plane !== "admin") return credential;
  if (credential?.role === "user") refuse({ code: "forbidden", reason: "role" });
  if (credential !== null) return credential;
  // With a credential created, a local address is not enough: proxies and tunnels have one too.
  if (access.isClaimed() || !(adminOpen || isLocal(peer, headers)))
    refuse({ code: "unauthorized", plane });
  return null;
}

/**
 * Applications may use any DNS alias. Browsers and administrators may not: in a DNS rebinding
 * attack, a web page reaches this server by a foreign name that resolves to its address.
 */
function checkHost(
  { serverNames }: Gate,
  { host, isBrowser }: RequestOrigin,
  plane: Plane,
  hasCredential: boolean,
): void {
  const parsed = parseHost(host);
  if (parsed.kind === "invalid") return refuse({ code: "wrong_host" });
  if (hasCredential || (plane !== "admin" && !isBrowser) || parsed.kind === "address") return;
  if (parsed.name !== "localhost" && !serverNames.includes(parsed.name)) {
    refuse({ code: "wrong_host" });
  }
}

/** Called only where it matters: it reads all headers. */
const isLocal = (peer: string, headers: Headers): boolean =>
  isLoopback(peer) && !isForwarded(headers);

const FORWARDING_HEADERS = ["forwarded", "x-real-ip", "via"];

/** Whether a proxy sent the request: then the peer's address is the proxy's, not the caller's. */
function isForwarded(headers: Headers): boolean {
  if (FORWARDING_HEADERS.some((name) => headers.has(name))) return true;
  for (const name of headers.keys()) if (name.startsWith("x-forwarded-")) return true;
  return false;
}
