// The requests of the attacks, sent by callers who are allowed to. They must have their effect, or
// the attacks would prove nothing.
import { routeRequestsFor } from "./route-requests.ts";
import { openPage } from "./chromium.ts";
import { DemoSite, JSON_TYPE } from "./demo-site.ts";
import { LOOPBACK } from "./network-address.ts";

interface RequestInitLike {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Returns the status of the answer. */
type Send = (url: string, init: RequestInitLike) => Promise<number>;

export interface Caller {
  readonly name: string;
  /** Prepares calls of the site at one of its addresses. */
  readonly prepare: (site: DemoSite, address: string) => Promise<Send>;
}

export const PROGRAM: Caller = {
  name: "a program",
  prepare: async () => async (url, init) => (await fetch(url, init)).status,
};

export const OWN_PAGE: Caller = {
  name: "Berth's own page",
  async prepare(site, address) {
    // The content security policy of the page forbids calls from an injected script.
    const page = await openPage({ bypassCSP: true });
    await page.goto(site.urlAt(address));
    return (url, init) =>
      page.evaluate(async ([url, init]) => (await fetch(url, init)).status, [url, init] as const);
  },
};

interface RouteOutcome {
  readonly route: string;
  readonly status: number;
  readonly hasChanged: boolean;
}

/**
 * Sends a request to every route, and returns what happened and what must happen. Over the network
 * a credential without TLS is refused with 403.
 */
export async function callRoutes(
  { prepare }: Caller,
  address: string,
): Promise<{ readonly outcomes: RouteOutcome[]; readonly expected: RouteOutcome[] }> {
  const site = await DemoSite.start();
  const send = await prepare(site, address);
  const outcomes: RouteOutcome[] = [];
  const expected: RouteOutcome[] = [];
  for (const request of routeRequestsFor(site)) {
    const { method, path, fields, setup = [], rejection, isReadOnly } = request;
    let token: string | null = null;
    for (const [setupPath, setupFields] of setup) {
      const reply = (await (await site.call(setupPath, setupFields)).json()) as { token?: string };
      token = reply.token ?? null;
    }
    const { seq } = await site.readCounters();
    const headers = {
      ...request.headers,
      ...(token !== null && { authorization: `Bearer ${token}` }),
    };
    const query = new URLSearchParams({ ...fields }).toString();
    const status =
      method === "GET"
        ? await send(site.urlAt(address, `${path}?${query}`), { method, headers })
        : await send(site.urlAt(address, path), {
            method,
            headers: { ...headers, ...JSON_TYPE },
            body: JSON.stringify(fields),
          });
    const hasChanged = site.changesSince(seq).length > 0;
    const route = `${method} ${path}`;
    outcomes.push({ route, status, hasChanged });
    const refusal = rejection ?? (token !== null && address !== LOOPBACK ? 403 : null);
    expected.push(
      refusal === null
        ? { route, status: 200, hasChanged: isReadOnly !== true }
        : { route, status: refusal, hasChanged },
    );
  }
  return { outcomes, expected };
}

/** Routes that accept a document as a file or as text; all others accept only JSON. */
const UPLOADS = new Set([
  "/api/v4/license/upload",
  "/api/admin/v1/trust/show",
  "/api/admin/v1/trust/add",
  "/api/admin/v1/clock/repair",
  "/api/admin/v1/statements/acknowledge",
]);

/**
 * Behind the gate: what any HTML form can send is not accepted as JSON, not even from Berth's page.
 * Returns the requests that were not refused with 415, and whether anything was changed.
 */
export async function sendJsonAs(
  type: string,
  address: string,
): Promise<{ readonly accepted: string[]; readonly hasChanged: boolean }> {
  const site = await DemoSite.start();
  const send = await OWN_PAGE.prepare(site, address);
  const { seq } = await site.readCounters();
  const accepted: string[] = [];
  for (const { method, path, fields } of routeRequestsFor(site)) {
    if (method === "GET" || UPLOADS.has(path)) continue;
    const init = { method, headers: { "content-type": type }, body: JSON.stringify(fields) };
    const url = site.urlAt(address, path);
    // The server may close the connection of a refused request before the browser has sent all.
    const status = await send(url, init).catch(() => send(url, init));
    if (status !== 415) accepted.push(`${path} ${status}`);
  }
  return { accepted, hasChanged: site.changesSince(seq).length > 0 };
}
