import { memoize } from "../../platform/memoize.ts";
import { normalizeAddress } from "../../platform/network/networks.ts";

/**
 * To a plain HTTP address in the local network, a browser may send only its User-Agent, which no
 * page can change in a request to another site. Other programs that claim to be Mozilla name no
 * engine.
 */
const BROWSER_ENGINE = /\b(?:AppleWebKit|Gecko|Trident)\//;

/** The headers that show which site's page sent a request, if a browser did. Read once. */
export interface RequestOrigin {
  readonly host: string;
  readonly origin: string | null;
  readonly fetchSite: string | null;
  readonly fetchMode: string | null;
  readonly referer: string | null;
  readonly isBrowser: boolean;
}

export function readRequestOrigin(headers: Headers): RequestOrigin {
  const origin = headers.get("origin");
  const fetchSite = headers.get("sec-fetch-site");
  return {
    host: headers.get("host") ?? "",
    origin,
    fetchSite,
    fetchMode: headers.get("sec-fetch-mode"),
    referer: headers.get("referer"),
    isBrowser:
      origin !== null || fetchSite !== null || BROWSER_ENGINE.test(headers.get("user-agent") ?? ""),
  };
}

const HOST = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_.])?))(?::\d{1,5})?$/i;

/** What the Host header of a request contains. */
export type HostName =
  | { readonly kind: "invalid" }
  | { readonly kind: "address" }
  | { readonly kind: "name"; readonly name: string };

export const parseHost = memoize((host: string): HostName => {
  const [match, bracketed, plain = ""] = HOST.exec(host) ?? [];
  if (match === undefined || (bracketed !== undefined && normalizeAddress(bracketed) === null)) {
    return { kind: "invalid" };
  }
  if (bracketed !== undefined || normalizeAddress(plain) !== null) return { kind: "address" };
  return { kind: "name", name: plain.toLowerCase().replace(/\.$/, "") };
}, 256);

/** Whether the page of another site sent the request. */
export function isCrossSite(request: RequestOrigin, isTls: boolean, isPage: boolean): boolean {
  const { host, origin, fetchSite, fetchMode, referer, isBrowser } = request;
  if (fetchMode === "navigate") return !isPage;
  if (fetchSite !== null && fetchSite !== "same-origin" && fetchSite !== "none") return true;
  if (origin !== null && origin.toLowerCase() !== ownOrigin(host, isTls)) return true;
  // A link to the page may come from anywhere.
  if (isPage) return false;
  // For an image of another site, the referer is all that is sent to a plain HTTP address, and that
  // site may suppress it. Our page always sends it, so a browser without it comes from elsewhere.
  if (referer !== null)
    return !`${referer.toLowerCase()}/`.startsWith(`${ownOrigin(host, isTls)}/`);
  return fetchSite === null && origin === null && isBrowser;
}

const ownOrigin = (host: string, isTls: boolean): string =>
  `${isTls ? "https" : "http"}://${host}`.toLowerCase();
