// The Overview page: licenses in every state, use and denied demand, and how soon a change appears.
import { beforeAll, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import type { UsageReply } from "../../src/http/routes/usage/usage.ts";
import { isSoak } from "../support/suite-harness.ts";
import { callApi, startLicensedSite, type Licensed } from "./licensed-site.ts";
import { createToken, HOSTILE, openSignedIn, PHONE, type OperatorPage } from "./operator-page.ts";

let site: Licensed;
let token: string;

/** Of one license a slot is free, the other is full. */
beforeAll(async () => {
  site = await startLicensedSite({
    CAD: ["--slots", "10", "--consumptions", "100"],
    [HOSTILE]: ["--slots", "2"],
    OLD: null,
  });
  token = await createToken(site);
  for (let user = 1; user <= 9; user += 1)
    await callApi(site, "register", { product: "CAD", user: `user-${user}` });
  for (const user of ["ada", HOSTILE]) await callApi(site, "register", { product: HOSTILE, user });
  const refused = await callApi(site, "register", { product: HOSTILE, user: "late" });
  expect(refused.status).toBe(400);
});

test("the overview shows how many slots of a license are free or that it is full, and HTML as text", async () => {
  const { page } = await openSignedIn(site, token, "/");
  await card(page, "CAD").getByText("9 of 10 slots in use").waitFor();
  await card(page, "CAD").getByText("1 free").waitFor();
  await card(page, HOSTILE).getByText("full").waitFor();
});

test("the overview shows a license that expires as expired without a reload", async () => {
  const { page } = await openSignedIn(site, token, "/");
  await card(page, "CAD").waitFor();
  installShortLicense();
  await card(page, "OLD").getByText("expired").waitFor();
  await page.getByText("OLD: license expired, no slots available").waitFor();
  await card(page, "OLD").getByText("no slots available").waitFor();
  expect(await card(page, "OLD").getByText("free").count()).toBe(0);
  expect(await page.getByText("Nothing needs attention.").count()).toBe(0);
  await page.getByRole("link", { name: "Request a renewal" }).click();
  await page.getByRole("heading", { name: "Request a license" }).first().waitFor();
});

test("the overview lists errors and warnings, and links to the notes", async () => {
  const { page } = await openSignedIn(site, token, "/");
  await page.getByRole("link", { name: /^\d+ notes$/ }).click();
  await page.getByRole("heading", { name: "Notes" }).waitFor();
  await page.getByText(`${HOSTILE}: all 2 slots are in use`).waitFor();
});

test("the overview has the use of each product as the server recorded it", async () => {
  const opened = await openSignedIn(site, token, "/");
  const peak = opened.page.getByRole("img", { name: "Last 7 days: peak 9, limit 10" });
  await peak.waitFor();
  await opened.saveScreenshot("overview-first-day");
});

test("the overview lists products by denied episodes, and a feature only if it was denied", async () => {
  const { opened, page, rows } = await openWeek();
  const cells = await Promise.all(
    (await rows.all()).map((row) => row.locator("th, td").allInnerTexts()),
  );
  expect(cells.map(([name, , now, day, week]) => [name, now, day, week])).toEqual([
    [HOSTILE, "2 of 2", "8", "12"],
    ["CAD, feature MESH", "–", "0", "3"],
    ["CAD", "9 of 10", "0", "0"],
    ...cells.slice(3).map(([name, , now, day, week]) => [name, now, day, week]),
  ]);
  await opened.checkAccessibility("overview page");
  await opened.saveScreenshot("overview");
  await page.getByRole("link", { name: "CAD, feature MESH: report" }).click();
  await page.getByRole("heading", { name: "CAD, feature MESH", level: 2 }).waitFor();
});

test("the small charts of the overview have a gap where nothing is known, and the limit of its time", async () => {
  const { rows } = await openWeek();
  const paths = rows.filter({ hasText: "CAD" }).last().locator(".sparkline path");
  const drawn = await paths.evaluateAll((elements) =>
    elements.map((element) => element.getAttribute("d") ?? ""),
  );
  const [, line = "", limit = ""] = drawn;
  expect(line.split("M").length - 1).toBe(2);
  expect(new Set(limit.match(/ [\d.]+(?=H)/g)).size).toBe(2);
});

test("the overview follows the theme, and fits on a phone", async () => {
  const { opened, page, rows } = await openWeek();
  await opened.chooseTheme("Dark");
  expect(await page.evaluate(`getComputedStyle(document.body).backgroundColor`)).toBe(
    "rgb(15, 23, 25)",
  );
  await opened.checkAccessibility("overview page, dark");
  await opened.saveScreenshot("overview-usage-dark");
  await page.setViewportSize(PHONE);
  await opened.checkAccessibility("overview page, phone, dark");
  await opened.chooseTheme("Light");
  await opened.checkAccessibility("overview page, phone");
  await page.evaluate(`scrollTo(0, 0)`);
  await opened.saveScreenshot("overview-phone");
  await rows.first().scrollIntoViewIfNeeded();
  await opened.saveScreenshot("overview-usage-phone");
  expect(await page.evaluate<number>(`document.documentElement.scrollWidth`)).toBe(PHONE.width);
});

test("changes appear on the overview without a reload and without further requests", async () => {
  const { opened, page } = await openWeek();
  await opened.waitUntilViewsLoaded();
  const delays: number[] = [];
  const requestPaths: string[] = [];
  page.on("request", (request) => requestPaths.push(new URL(request.url()).pathname));
  for (let round = 0; round < 3; round += 1) {
    for (const [operation, text] of [
      ["register", "10 of 10 slots in use"],
      ["unregister", "9 of 10 slots in use"],
    ] as const) {
      await callApi(site, operation, { product: "CAD", user: "newcomer" });
      const start = performance.now();
      await card(page, "CAD").getByText(text).waitFor();
      delays.push(Math.round(performance.now() - start));
    }
  }
  console.log(`changes appeared on the page after ${delays.join(", ")} ms`);
  // On a busy machine the stream can be silent for long; the page then opens a new one. The usage is
  // read once a minute.
  const expected = new Set(["/api/admin/v1/stream", "/api/admin/v1/usage"]);
  expect(requestPaths.filter((path) => !expected.has(path))).toEqual([]);
  if (isSoak) expect(Math.max(...delays)).toBeLessThan(2_000);
});

/** The card of a product. */
const card = (page: Page, product: string): Locator =>
  page.getByRole("article").filter({ has: page.getByRole("link", { name: product, exact: true }) });

interface OpenWeek {
  readonly opened: OperatorPage;
  readonly page: Page;
  /** Of the table of use and denied demand. */
  readonly rows: Locator;
}

/** Opens the overview with a prepared answer of the usage. */
async function openWeek(): Promise<OpenWeek> {
  const opened = await openSignedIn(site, token, "/");
  const { page } = opened;
  await page.route("**/api/admin/v1/usage?*", (route) => route.fulfill({ json: makeUsageReply() }));
  await page.reload();
  const rows = page.getByRole("region", { name: "Use and denied demand" }).locator("tbody tr");
  await rows.filter({ hasText: "MESH" }).waitFor();
  return { opened, page, rows };
}

/** Installs a license that expires within seconds; if that takes too long, one with more time. */
function installShortLicense(): void {
  for (let seconds = 4; ; seconds *= 2) {
    const end = Date.now() + seconds * 1_000;
    try {
      const validUntil = new Date(end).toISOString();
      return site.license("OLD", ["--slots", "3", "--valid-until", validUntil]);
    } catch (error) {
      if (Date.now() < end) throw error;
    }
  }
}

/**
 * A week in steps of an hour, as the server sends it: with a time in which it was off, and a limit
 * that was raised in the middle.
 */
function makeUsageReply(): UsageReply {
  const [steps, minutes] = [168, 60];
  const to = Date.now();
  const eachStep = <T>(value: (step: number) => T): T[] =>
    Array.from({ length: steps }, (_, step) => value(step));
  const none = eachStep(() => 0);
  const makePool = (
    product: string,
    feature: string | null,
    slots: number,
    denied: (step: number) => number,
  ): UsageReply["pools"][number] => ({
    product,
    feature,
    limit: eachStep((step) => (step < steps / 2 ? slots / 2 : slots)),
    peak: eachStep((step) => (step > 30 && step < 50 ? null : step % slots)),
    mean: none,
    full_seconds: none,
    borrowed: none,
    waiting: none,
    episodes: eachStep(denied),
    consumed: none,
  });
  return {
    range: "week",
    from: new Date(to - steps * minutes * 60_000).toISOString(),
    to: new Date(to).toISOString(),
    step_minutes: minutes,
    pools: [
      makePool("CAD", null, 10, () => 0),
      makePool("CAD", "MESH", 4, (step) => (step === 5 ? 3 : 0)),
      makePool("CAD", "SOLVER", 4, () => 0),
      makePool(HOSTILE, null, 2, (step) => (step === steps - 1 ? 8 : step === 2 ? 4 : 0)),
    ],
  };
}
