// The Overview page: licenses in every state, usage charts, and how soon a change appears.
import { beforeAll, expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { isSoak } from "../support/suite-harness.ts";
import { callApi, startLicensedSite, type Licensed } from "./licensed-site.ts";
import {
  createToken,
  expectEventually,
  HOSTILE,
  openSignedIn,
  PHONE,
  type OperatorPage,
} from "./operator-page.ts";

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

test("the overview shows the usage of the first day as the server recorded it", async () => {
  const opened = await openSignedIn(site, token, "/");
  const day = /^Slots in use over the last day: CAD peak 9 of 10/;
  await opened.page.getByRole("img", { name: day }).waitFor();
  await opened.saveScreenshot("overview-first-day");
});

test("the usage of a week has its own button, and says that older usage is still being read", async () => {
  const { opened, page } = await openWeek();
  const button = page.getByRole("button", { name: "Week" });
  expect(await button.getAttribute("aria-pressed")).toBe("true");
  await page.getByText("still being read").waitFor();
  await opened.checkAccessibility("overview page");
  await opened.saveScreenshot("overview");
});

test("pointing at a usage chart shows the values of that step in a tooltip", async () => {
  const { opened, page, week } = await openWeek();
  await page.locator(".usage").scrollIntoViewIfNeeded();
  const tooltip = page.locator(".chart-tooltip");
  const slots = (await week.locator(".u-over").boundingBox()) ?? NO_BOX;
  await page.mouse.move(slots.x + slots.width - 2, slots.y + 20);
  await tooltip.getByText("CAD 9 of 10").waitFor();
  await opened.saveScreenshot("overview-usage");
  await page.mouse.move(slots.x + slots.width * 0.25, slots.y + 20);
  await tooltip.getByText("CAD unknown").waitFor();
  const refusals = page.getByRole("img", { name: /^Denied episodes over the last week/ });
  const bars = (await refusals.locator(".u-over").boundingBox()) ?? NO_BOX;
  await page.mouse.move(bars.x + bars.width - 2, bars.y + 20);
  // Only the last step has this number, so no neighbouring step can be taken for it.
  await tooltip.getByText("no free slot 4").waitFor();
  await page.mouse.move(0, 0);
  await tooltip.waitFor({ state: "detached" });
});

test("dragging over a usage chart zooms both charts, and a button shows all again", async () => {
  const { page, week } = await openWeek();
  await page.locator(".usage").scrollIntoViewIfNeeded();
  const chartImages = () =>
    page.evaluate<string[]>(
      `[...document.querySelectorAll(".chart canvas")].map((canvas) => canvas.toDataURL())`,
    );
  const whole = await chartImages();
  const { x, y, width } = (await week.locator(".u-over").boundingBox()) ?? NO_BOX;
  await page.mouse.move(x + width * 0.7, y + 30);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.9, y + 30, { steps: 4 });
  await page.mouse.up();
  await page.mouse.move(0, 0);
  const reset = page.getByRole("button", { name: "Reset zoom" });
  await expectEventually(() => reset.isEnabled(), true);
  await expectEventually(
    async () => (await chartImages()).map((image, index) => image !== whole[index]),
    [true, true],
  );
  await reset.click();
  await expectEventually(async () => Bun.deepEquals(await chartImages(), whole), true);
  const zoomIn = page.getByRole("button", { name: "Zoom in" });
  await zoomIn.focus();
  await page.keyboard.press("Enter");
  await expectEventually(async () => Bun.deepEquals(await chartImages(), whole), false);
});

test("an entry of the usage legend hides its line and shows it again", async () => {
  const { page } = await openWeek();
  const chartImage = () =>
    page.evaluate<string>(`document.querySelector(".chart canvas").toDataURL()`);
  const whole = await chartImage();
  const entry = page.locator(".legend").getByRole("button", { name: /^CAD peak/ });
  await entry.click();
  expect(await entry.getAttribute("aria-pressed")).toBe("false");
  await expectEventually(async () => (await chartImage()) !== whole, true);
  await entry.click();
  await page.mouse.move(0, 0);
  await expectEventually(async () => (await chartImage()) === whole, true);
});

test("the overview and its charts follow the theme, and fit on a phone", async () => {
  const { opened, page, week } = await openWeek();
  /** The pixels of the first chart as a text. */
  const chartImage = () =>
    page.evaluate<string>(`document.querySelector(".chart canvas").toDataURL()`);
  const lightChart = await chartImage();
  await opened.chooseTheme("Dark");
  await expectEventually(async () => (await chartImage()) !== lightChart, true);
  expect(await page.evaluate(`getComputedStyle(document.body).backgroundColor`)).toBe(
    "rgb(15, 23, 25)",
  );
  await opened.checkAccessibility("overview page, dark");
  await opened.saveScreenshot("overview-usage-dark");
  await page.setViewportSize(PHONE);
  await expectEventually(async () => {
    const width = (await week.locator("canvas").boundingBox())?.width ?? 0;
    return width > 250 && width < PHONE.width;
  }, true);
  await opened.checkAccessibility("overview page, phone, dark");
  await opened.chooseTheme("Light");
  await opened.checkAccessibility("overview page, phone");
  await page.evaluate(`scrollTo(0, 0)`);
  await opened.saveScreenshot("overview-phone");
  await page.locator(".usage").scrollIntoViewIfNeeded();
  await opened.saveScreenshot("overview-usage-phone");
  expect(await page.evaluate<number>(`document.documentElement.scrollWidth`)).toBe(PHONE.width);
});

test("the usage table has a row for every step of the week, the newest first", async () => {
  const { opened, page } = await openWeek();
  await page.getByText("Show as table").click();
  const lines = page
    .getByRole("region", { name: "Slots in use and denied episodes by time" })
    .locator("tbody tr");
  await lines.first().waitFor();
  expect(await lines.count()).toBe(168);
  const newest = await lines.first().locator("td").allTextContents();
  expect(newest).toEqual(["9 of 10", "2 of 2", "unknown", "4"]);
  await opened.checkAccessibility("overview page, the usage table");
});

test("changes appear on the overview without a reload and without further requests", async () => {
  const { page, secondRequest } = await openWeek();
  await secondRequest;
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
  // On a busy machine the stream can be silent for long; the page then opens a new one.
  expect(requestPaths.filter((path) => path !== "/api/admin/v1/stream")).toEqual([]);
  if (isSoak) expect(Math.max(...delays)).toBeLessThan(2_000);
});

const NO_BOX = { x: 0, y: 0, width: 0 };

/** The card of a product. */
const card = (page: Page, product: string): Locator =>
  page.getByRole("article").filter({ has: page.getByRole("link", { name: product, exact: true }) });

interface OpenWeek {
  readonly opened: OperatorPage;
  readonly page: Page;
  readonly week: Locator;
  /** Ends when the page requests the usage again. */
  readonly secondRequest: Promise<void>;
}

/**
 * Opens the usage of a week from a prepared answer. The page requests the usage again every two
 * seconds, and each answer redraws the charts under the pointer: only the first one is answered.
 */
async function openWeek(): Promise<OpenWeek> {
  const opened = await openSignedIn(site, token, "/");
  const { page } = opened;
  let isAnswered = false;
  let reportSecondRequest = (): void => {};
  const secondRequest = new Promise<void>((resolve) => (reportSecondRequest = resolve));
  await page.route("**/api/admin/v1/usage?*", async (route) => {
    if (!route.request().url().endsWith("range=week")) return;
    if (isAnswered) return reportSecondRequest();
    isAnswered = true;
    await route.fulfill({ json: makeUsageReply("week") });
  });
  await page.getByRole("button", { name: "Week" }).click();
  const week = page.getByRole("img", { name: /^Slots in use over the last week: CAD peak 9/ });
  await week.waitFor();
  return { opened, page, week, secondRequest };
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

/** A usage answer as the server sends it, with a time in which it was off. */
function makeUsageReply(range: string): object {
  const [steps, minutes] = range === "day" ? [288, 5] : range === "week" ? [168, 60] : [180, 240];
  const to = Date.now();
  const stepNumbers = Array.from({ length: steps }, (_, step) => step);
  const wasOff = (step: number): boolean => step > steps * 0.2 && step < steps * 0.3;
  const wave = (peak: number, stretch: number) => (step: number) =>
    wasOff(step)
      ? null
      : step === steps - 1
        ? peak
        : Math.round((peak / 2) * (1 + Math.sin(step / stretch)));
  const none = stepNumbers.map(() => 0);
  const makePool = (
    product: string,
    slots: number,
    peak: readonly (number | null)[],
    episodes: readonly (number | null)[],
  ): object => ({
    product,
    feature: null,
    limit: stepNumbers.map(() => slots),
    peak,
    mean: peak,
    full_seconds: none,
    borrowed: none,
    episodes,
    consumed: none,
  });
  return {
    range,
    from: new Date(to - steps * minutes * 60_000).toISOString(),
    to: new Date(to).toISOString(),
    step_minutes: minutes,
    pools: [
      makePool("CAD", 10, stepNumbers.map(wave(9, 20)), none),
      makePool(HOSTILE, 2, stepNumbers.map(wave(2, 9)), stepNumbers.map(wave(4, 15))),
      makePool(
        "OLD",
        3,
        stepNumbers.map(() => null),
        none,
      ),
    ],
  };
}
