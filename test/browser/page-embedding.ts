// What other sites may do with Berth's page: lead to it. What they may not: show it inside theirs.
import type { Browser, Page } from "playwright-core";
import { check } from "../support/suite-harness.ts";
import { routeRequestsFor, attackRequestsAt } from "./route-requests.ts";
import { openPage } from "./chromium.ts";
import { comesTrue } from "./operator-page.ts";
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
    const opened = await follow(page, `${base}/`);
    const heading = await opened
      .locator("h1")
      .textContent()
      .catch(() => null);
    check(`a link on ${from} opens the page at ${base}`, heading === "Berth", heading);
    await opened.close();
    await checkLinks(page, from, base, site);
    await checkFrames(page, from, base);
    await page.close();
  }
}

/** A click of the user's own hand on something that looks like an ordinary link. */
async function follow(page: Page, url: string): Promise<Page> {
  await page.setContent(`<a href="${url.replaceAll("&", "&amp;")}" target="_blank">prices</a>`);
  const opening = page.waitForEvent("popup");
  await page.click("a");
  const opened = await opening;
  await opened.waitForLoadState();
  return opened;
}

async function checkLinks(page: Page, from: string, base: string, site: DemoSite): Promise<void> {
  const { seq } = await site.readCounters();
  const shots = attackRequestsAt(base, routeRequestsFor(site)).filter(
    ({ method, query }) => method === "GET" && query,
  );
  for (const { url, query } of shots) await (await follow(page, `${url}?${query}`)).close();
  const now = await site.waitUntilIdle();
  check(
    `${shots.length} links on ${from} that were clicked change nothing at ${base}`,
    now.seq === seq,
    site.changesSince(seq),
  );
}

async function checkFrames(page: Page, from: string, base: string): Promise<void> {
  for (const [tag, attribute] of [
    ["iframe", "src"],
    ["object", "data"],
    ["embed", "src"],
  ] as const) {
    // What can be framed is, or this would prove nothing.
    await frame(page, tag, attribute, from);
    const isShown = await comesTrue(async () => (await titleInside(page)) === "elsewhere");
    const asked = page.waitForRequest(`${base}/`);
    await frame(page, tag, attribute, `${base}/`);
    await (await asked).response();
    await page.waitForTimeout(300);
    const hidden = await titleInside(page);
    check(`<${tag}> on ${from} cannot show the page at ${base}`, isShown && hidden !== "Berth", {
      isShown,
      hidden,
    });
  }
}

const frame = (page: Page, tag: string, attribute: string, url: string): Promise<void> =>
  page.setContent(`<${tag} ${attribute}="${url}" width="300" height="300"></${tag}>`);

/** Null: there is nothing inside, or not yet. */
async function titleInside(page: Page): Promise<string | null> {
  return (
    (await page
      .frames()[1]
      ?.title()
      .catch(() => null)) ?? null
  );
}
