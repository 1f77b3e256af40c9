// Other sites may link to Berth's page, but a link must change nothing, and no site may frame the
// page.
import type { Browser, Page } from "playwright-core";
import { check } from "../support/suite-harness.ts";
import { routeRequestsFor, attackRequestsAt } from "./route-requests.ts";
import { openPage } from "./chromium.ts";
import { isEventuallyTrue } from "./operator-page.ts";
import type { DemoSite } from "./demo-site.ts";

export async function checkLinksAndFrames(
  browser: Browser,
  home: string,
  base: string,
  site: DemoSite,
): Promise<void> {
  for (const from of [home, `${home}/?silent`]) {
    const page = await openPage(browser);
    await page.goto(from);
    const opened = await clickLink(page, `${base}/`);
    const heading = await opened
      .locator("h1")
      .textContent()
      .catch(() => null);
    check(`a link on ${from} opens Berth's page at ${base}`, heading === "Berth", heading);
    await opened.close();
    await checkLinks(page, from, base, site);
    await checkFrames(page, from, base);
    await page.close();
  }
}

/** A real click by the user on what looks like an ordinary link. */
async function clickLink(page: Page, url: string): Promise<Page> {
  await page.setContent(`<a href="${url.replaceAll("&", "&amp;")}" target="_blank">prices</a>`);
  const popup = page.waitForEvent("popup");
  await page.click("a");
  const opened = await popup;
  await opened.waitForLoadState();
  return opened;
}

async function checkLinks(page: Page, from: string, base: string, site: DemoSite): Promise<void> {
  const { seq } = await site.readCounters();
  const requests = attackRequestsAt(base, routeRequestsFor(site)).filter(
    ({ method, query }) => method === "GET" && query,
  );
  for (const { url, query } of requests) {
    await (await clickLink(page, `${url}?${query}`)).close();
  }
  const { seq: seqAfter } = await site.waitUntilIdle();
  check(
    `clicking ${requests.length} links on ${from} changes nothing at ${base}`,
    seqAfter === seq,
    site.changesSince(seq),
  );
}

async function checkFrames(page: Page, from: string, base: string): Promise<void> {
  for (const [tag, attribute] of [
    ["iframe", "src"],
    ["object", "data"],
    ["embed", "src"],
  ] as const) {
    // First a page that can be framed, or the check would prove nothing.
    await frame(page, tag, attribute, from);
    const isFramable = await isEventuallyTrue(
      async () => (await titleInside(page)) === "elsewhere",
    );
    const request = page.waitForRequest(`${base}/`);
    await frame(page, tag, attribute, `${base}/`);
    await (await request).response();
    await page.waitForTimeout(300);
    const title = await titleInside(page);
    check(
      `a page on ${from} cannot show Berth's page at ${base} in <${tag}>`,
      isFramable && title !== "Berth",
      { isFramable, title },
    );
  }
}

const frame = (page: Page, tag: string, attribute: string, url: string): Promise<void> =>
  page.setContent(`<${tag} ${attribute}="${url}" width="300" height="300"></${tag}>`);

/** Null: the frame has no page, or has not loaded it yet. */
async function titleInside(page: Page): Promise<string | null> {
  return (
    (await page
      .frames()[1]
      ?.title()
      .catch(() => null)) ?? null
  );
}
