// The same requests where they come from those who may: they must do what they are for, or the
// attacks would prove nothing.
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

/** The status of the answer. */
type Send = (url: string, sent: RequestInitLike) => Promise<number>;

export async function checkAllowedCallers(browser: Browser, address: string): Promise<void> {
  const asProgram: Send = async (url, sent) => (await fetch(url, sent)).status;
  await checkRoutes("a program", address, await DemoSite.start(), asProgram);
  const site = await DemoSite.start();
  // Its content security policy lets the page call nobody yet.
  const page = await openPage(browser, { bypassCSP: true });
  await page.goto(site.urlAt(address));
  const asPage: Send = (url, sent) =>
    page.evaluate(async ([url, sent]) => (await fetch(url, sent)).status, [url, sent] as const);
  await checkForms(address, site, asPage);
  await checkRoutes("the own page", address, site, asPage);
  await page.close();
}

/** A credential is not taken over the network without TLS; the administrator is told so. */
async function checkRoutes(
  who: string,
  address: string,
  site: DemoSite,
  send: Send,
): Promise<void> {
  for (const { method, path, fields, setup = [], isRejected, isReadOnly } of routeRequestsFor(
    site,
  )) {
    let token: string | null = null;
    for (const [before, given] of setup) {
      const made = (await (await site.call(before, given)).json()) as { token?: string };
      token = made.token ?? null;
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
    const changed = (await site.readCounters()).seq > seq;
    const refusal = isRejected === true ? 400 : token !== null && address !== LOOPBACK ? 403 : null;
    const done =
      refusal === null ? status === 200 && changed === (isReadOnly !== true) : status === refusal;
    check(`${who} at ${address} may: ${method} ${path}`, done, { status, changed });
  }
}

/** Where a document is taken as a file or as text; everywhere else only JSON is. */
const UPLOADS = new Set([
  "/api/v4/license/upload",
  "/api/admin/v1/trust/show",
  "/api/admin/v1/trust/add",
  "/api/admin/v1/clock/repair",
]);

/** The wall behind the gate: what any form can send is not taken for JSON, whoever sends it. */
async function checkForms(address: string, site: DemoSite, send: Send): Promise<void> {
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
    const { seq } = await site.readCounters();
    const taken: string[] = [];
    for (const { method, path, fields } of routeRequestsFor(site)) {
      if (method !== "POST" || UPLOADS.has(path)) continue;
      const headers = { "content-type": type };
      const status = await send(site.urlAt(address, path), {
        method,
        headers,
        body: JSON.stringify(fields),
      });
      if (status !== 415) taken.push(`${path} ${status}`);
    }
    const changed = (await site.readCounters()).seq !== seq;
    check(
      `JSON as ${type} is refused at ${address}, the own page's too`,
      taken.length === 0 && !changed,
      taken,
    );
  }
}
