// The requests of the attacks, sent by callers who are allowed to. They must have their effect, or
// the attacks would prove nothing.
import type { Browser } from "playwright-core";
import { check } from "../support/suite-harness.ts";
import { routeRequestsFor } from "./route-requests.ts";
import { openPage } from "./chromium.ts";
import { JSON_TYPE, LOOPBACK, DemoSite } from "./demo-site.ts";

interface RequestInitLike {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Returns the status of the answer. */
type Send = (url: string, init: RequestInitLike) => Promise<number>;

export async function checkAllowedCallers(browser: Browser, address: string): Promise<void> {
  const asProgram: Send = async (url, init) => (await fetch(url, init)).status;
  await checkRoutes("a program", address, await DemoSite.start(), asProgram);
  const site = await DemoSite.start();
  // The content security policy of the page forbids calls from an injected script.
  const page = await openPage(browser, { bypassCSP: true });
  await page.goto(site.urlAt(address));
  const asPage: Send = (url, init) =>
    page.evaluate(async ([url, init]) => (await fetch(url, init)).status, [url, init] as const);
  await checkForms(address, site, asPage);
  await checkRoutes("Berth's own page", address, site, asPage);
  await page.close();
}

/** Over the network a credential without TLS is refused with 403. */
async function checkRoutes(
  caller: string,
  address: string,
  site: DemoSite,
  send: Send,
): Promise<void> {
  for (const { method, path, fields, setup = [], isRejected, isReadOnly } of routeRequestsFor(
    site,
  )) {
    let token: string | null = null;
    for (const [setupPath, setupFields] of setup) {
      const reply = (await (await site.call(setupPath, setupFields)).json()) as { token?: string };
      token = reply.token ?? null;
    }
    const { seq } = await site.readCounters();
    const headers = { ...(token !== null && { authorization: `Bearer ${token}` }) };
    const status =
      method === "GET"
        ? await send(
            site.urlAt(address, `${path}?${new URLSearchParams({ ...fields }).toString()}`),
            {
              method,
              headers,
            },
          )
        : await send(site.urlAt(address, path), {
            method,
            headers: { ...headers, ...JSON_TYPE },
            body: JSON.stringify(fields),
          });
    const hasChanged = (await site.readCounters()).seq > seq;
    const refusal = isRejected === true ? 400 : token !== null && address !== LOOPBACK ? 403 : null;
    const isRight =
      refusal === null
        ? status === 200 && hasChanged === (isReadOnly !== true)
        : status === refusal;
    const expected = refusal === null ? "succeeds" : `is answered with ${refusal}`;
    check(`${method} ${path} from ${caller} at ${address} ${expected}`, isRight, {
      status,
      hasChanged,
    });
  }
}

/** Routes that accept a document as a file or as text; all others accept only JSON. */
const UPLOADS = new Set([
  "/api/v4/license/upload",
  "/api/admin/v1/trust/show",
  "/api/admin/v1/trust/add",
  "/api/admin/v1/clock/repair",
]);

/**
 * Behind the gate: what any HTML form can send is not accepted as JSON, not even from Berth's page.
 */
async function checkForms(address: string, site: DemoSite, send: Send): Promise<void> {
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
    const { seq } = await site.readCounters();
    const accepted: string[] = [];
    for (const { method, path, fields } of routeRequestsFor(site)) {
      if (method !== "POST" || UPLOADS.has(path)) continue;
      const headers = { "content-type": type };
      const status = await send(site.urlAt(address, path), {
        method,
        headers,
        body: JSON.stringify(fields),
      });
      if (status !== 415) accepted.push(`${path} ${status}`);
    }
    const hasChanged = (await site.readCounters()).seq !== seq;
    check(
      `JSON sent as ${type} by Berth's own page at ${address} is refused with 415`,
      accepted.length === 0 && !hasChanged,
      accepted,
    );
  }
}
