// Other sites may link to Berth's page, but a link must change nothing, and no site may frame the
// page.
import type { Page } from "playwright-core";
import { attackRequestsAt, routeRequestsFor } from "./route-requests.ts";
import { openPage } from "./chromium.ts";
import type { DemoSite } from "./demo-site.ts";
import { expectEventually } from "./operator-page.ts";

/** A real click by the user on what looks like an ordinary link. */
async function clickLink(page: Page, url: string): Promise<Page> {
  await page.setContent(`<a href="${url.replaceAll("&", "&amp;")}" target="_blank">prices</a>`);
  const popup = page.waitForEvent("popup");
  await page.click("a");
  const opened = await popup;
  await opened.waitForLoadState();
  return opened;
}

/** The heading of the page that a link on `from` opens. */
export async function followLink(from: string, url: string): Promise<string | null> {
  const page = await openPage();
  await page.goto(from);
  const opened = await clickLink(page, url);
  const heading = await opened.locator("h1").textContent();
  await page.context().close();
  return heading;
}

/** Clicks a link for every GET request that changes something, and returns what was changed. */
export async function clickLinks(from: string, base: string, site: DemoSite): Promise<string[]> {
  const page = await openPage();
  await page.goto(from);
  const { seq } = await site.readCounters();
  const requests = attackRequestsAt(base, routeRequestsFor(site)).filter(
    ({ method, query }) => method === "GET" && query,
  );
  for (const { url, query } of requests) {
    await (await clickLink(page, `${url}?${query}`)).close();
  }
  await site.waitUntilIdle();
  await page.context().close();
  return site.changesSince(seq);
}

/** The elements that show another page inside a page. */
export const FRAME_TAGS = { iframe: "src", object: "data", embed: "src" } as const;

/** Shows Berth's page in an element of a page on `from`, and returns the title inside. */
export async function framePage(
  from: string,
  tag: keyof typeof FRAME_TAGS,
  base: string,
): Promise<string | null> {
  const page = await openPage();
  await page.goto(from);
  // First a page that can be framed, or the attempt would prove nothing.
  await frame(page, tag, from);
  await expectEventually(() => titleInside(page), "elsewhere");
  const request = page.waitForRequest(`${base}/`);
  await frame(page, tag, `${base}/`);
  await (await request).response();
  await page.waitForTimeout(300);
  const title = await titleInside(page);
  await page.context().close();
  return title;
}

const frame = (page: Page, tag: keyof typeof FRAME_TAGS, url: string): Promise<void> =>
  page.setContent(`<${tag} ${FRAME_TAGS[tag]}="${url}" width="300" height="300"></${tag}>`);

/** Null: the frame has no page, or has not loaded it yet. */
async function titleInside(page: Page): Promise<string | null> {
  return (
    (await page
      .frames()[1]
      ?.title()
      .catch(() => null)) ?? null
  );
}
