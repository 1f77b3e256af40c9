// The Overview page: licenses in every state, usage charts, and how soon a change appears, also
// after the server was restarted.
import { check, finish, atEnd, isSoak } from "../support/suite-harness.ts";
import { startBinary } from "../support/binary.ts";
import { callApi, startLicensedSite } from "./licensed-site.ts";
import {
  isEventuallyTrue,
  DESKTOP,
  HOSTILE,
  isShown,
  OperatorPage,
  PHONE,
} from "./operator-page.ts";

const site = await startLicensedSite({
  CAD: ["--slots", "10", "--consumptions", "100"],
  [HOSTILE]: ["--slots", "2"],
  OLD: null,
});
for (let user = 1; user <= 9; user += 1)
  await callApi(site, "register", { product: "CAD", user: `user-${user}` });
for (const user of ["ada", HOSTILE]) await callApi(site, "register", { product: HOSTILE, user });
const refused = await callApi(site, "register", { product: HOSTILE, user: "late" });
check("a third user of a license with two slots is refused", refused.status === 400);

const opened = await OperatorPage.open(site.url);
const { page } = opened;
await opened.createToken();
const card = (product: string) =>
  page.getByRole("article").filter({ has: page.getByRole("link", { name: product, exact: true }) });
await card("CAD").getByText("9 of 10 slots in use").waitFor();
check(
  "a license with one slot left shows that one is free",
  await isShown(card("CAD").getByText("1 free")),
);
check(
  "a full license shows that it is full, and its HTML name as text",
  await isShown(card(HOSTILE).getByText("full")),
);
installShortLicense();
await card("OLD").getByText("expired").waitFor();
check(
  "a license that expires is shown as expired without a reload",
  await isShown(page.getByText("OLD: license expired, no slots available")),
);

await page.locator(".health").getByRole("link").click();
await page.getByRole("heading", { name: "Exposures" }).waitFor();
check("the number of exposures links to the list of exposures", true);
await page.getByRole("link", { name: "Overview" }).click();

// Usage: the first day as the server recorded it, and a week from a prepared answer.
const day = page.getByRole("img", { name: /^Slots in use over the last day: CAD peak 9 of 10/ });
await day.waitFor();
await opened.saveScreenshot("overview-first-day");
// The page requests the usage again every two seconds, and each answer redraws the charts under the
// pointer. So only the first request is answered.
let isAnswered = false;
let reportSecondRequest = (): void => {};
const secondRequest = new Promise<void>((resolve) => (reportSecondRequest = resolve));
await page.route("**/api/admin/v1/usage?*", async (route) => {
  if (!route.request().url().endsWith("range=week")) return;
  if (isAnswered) return reportSecondRequest();
  isAnswered = true;
  await route.fulfill({ json: makeUsageReply("week") });
});
const weekButton = page.getByRole("button", { name: "Week" });
await weekButton.click();
const week = page.getByRole("img", { name: /^Slots in use over the last week: CAD peak 9/ });
await week.waitFor();
check(
  "the button of the chosen range is pressed",
  (await weekButton.getAttribute("aria-pressed")) === "true",
);
/** The pixels of the first chart as a text. */
const chartImage = () =>
  page.evaluate<string>(`document.querySelector(".chart canvas").toDataURL()`);
check(
  "the page says that older usage is still being read",
  await isShown(page.getByText("still being read")),
);
await opened.checkAccessibility("overview page");
await opened.saveScreenshot("overview");
await page.locator(".usage").scrollIntoViewIfNeeded();
await opened.saveScreenshot("overview-usage");
const { x = 0, y = 0, width: chartWidth = 0 } = (await week.locator(".u-over").boundingBox()) ?? {};
const legend = page.locator(".legend li").first();
const rangeText = await legend.textContent();
await page.mouse.move(x + chartWidth - 2, y + 20);
await page.getByText(/^From .*:$/).waitFor();
check(
  "pointing at a chart shows the value of that step in the legend",
  (await legend.textContent()) === "CAD 9 of 10",
  rangeText,
);
// Only the last step has this number, so no neighbouring step can be taken for it.
const refusals = await page.locator(".legend").last().locator("li").textContent();
check(
  "pointing at the upper chart also shows the refusals of the same step",
  refusals === "no free slot 4",
  refusals,
);
await page.mouse.move(x + chartWidth * 0.25, y + 20);
await legend.getByText("unknown").waitFor();
await page.mouse.move(0, 0);
await page.getByText("Hover over a chart").waitFor();
check(
  "without a pointer on the chart the legend shows the whole range",
  (await legend.textContent()) === rangeText,
  rangeText,
);

const lightChart = await chartImage();
await page.getByRole("button", { name: "Switch to dark" }).click();
check(
  "the chart follows the theme",
  await isEventuallyTrue(async () => (await chartImage()) !== lightChart),
);
const background = await page.evaluate(`getComputedStyle(document.body).backgroundColor`);
check("the page follows the theme", background === "rgb(15, 23, 25)", background);
await opened.checkAccessibility("overview page, dark");
await opened.saveScreenshot("overview-usage-dark");
await page.setViewportSize(PHONE);
const canvasWidth = async () => (await week.locator("canvas").boundingBox())?.width ?? 0;
check(
  "on a phone the chart is as wide as the page allows",
  await isEventuallyTrue(
    async () => (await canvasWidth()) > 250 && (await canvasWidth()) < PHONE.width,
  ),
  await canvasWidth(),
);
await opened.checkAccessibility("overview page, phone, dark");
await page.getByRole("button", { name: "Switch to light" }).click();
await opened.checkAccessibility("overview page, phone");
await page.evaluate(`scrollTo(0, 0)`);
await opened.saveScreenshot("overview-phone");
await page.locator(".usage").scrollIntoViewIfNeeded();
await opened.saveScreenshot("overview-usage-phone");
const pageWidth = await page.evaluate(`document.documentElement.scrollWidth`);
check("the overview page is no wider than a phone", pageWidth === PHONE.width, pageWidth);
await page.setViewportSize(DESKTOP);
await page.getByText("Show as table").click();
const lines = page
  .getByRole("region", { name: "Slots in use and refusals by time" })
  .locator("tbody tr");
await lines.first().waitFor();
check(
  "the usage table has a row for every step of the week",
  (await lines.count()) === 168,
  await lines.count(),
);
const newest = await lines.first().locator("td").allTextContents();
check(
  "the usage table begins with the newest step",
  newest.join() === "9 of 10,2 of 2,unknown,4",
  newest,
);
await opened.checkAccessibility("overview page, the usage table");

// Live updates.
await page.evaluate(`scrollTo(0, 0)`);
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
    await card("CAD").getByText(text).waitFor();
    delays.push(Math.round(performance.now() - start));
  }
}
console.log(`changes appeared on the page after ${delays.join(", ")} ms`);
// On a busy machine the stream can be silent for long; the page then opens a new one.
const otherRequests = requestPaths.filter((path) => path !== "/api/admin/v1/stream");
check(
  "changes appear without a reload and without further requests",
  otherRequests.length === 0,
  otherRequests,
);
if (isSoak) check("changes appear within two seconds", Math.max(...delays) < 2_000, delays);

// The server stops and starts again.
await site.stop();
await page.getByText("connection lost, retrying").waitFor();
check(
  "while the server is down the page keeps its data and says that the connection is lost",
  await isShown(card("CAD")),
);
await opened.checkAccessibility("overview page, connection lost");
await opened.saveScreenshot("overview-lost");
const { port } = new URL(site.url);
const restarted = await startBinary(
  "serve",
  "--data",
  site.folder,
  "--listen",
  `127.0.0.1:${port}`,
);
atEnd(() => void restarted.kill());
const restart = performance.now();
await page.getByText("live", { exact: true }).waitFor();
console.log(`the page reconnected ${Math.round(performance.now() - restart)} ms after the restart`);
await callApi(site, "register", { product: "CAD", user: "newcomer" });
await card("CAD").getByText("10 of 10 slots in use").waitFor();
check("after a restart of the server the page shows new changes", true);

opened.checkNoErrors("the overview page");
await opened.close();
await restarted.stop();
finish();

/** Installs a license that expires within seconds; if it is issued too late, one with more time. */
function installShortLicense(): void {
  for (let seconds = 10; ; seconds *= 2) {
    const validUntil = new Date(Date.now() + seconds * 1_000).toISOString();
    try {
      return site.license("OLD", ["--slots", "3", "--valid-until", validUntil]);
    } catch (error) {
      if (!String(error).includes("would be over")) throw error;
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
  return {
    range,
    from: new Date(to - steps * minutes * 60_000).toISOString(),
    to: new Date(to).toISOString(),
    step_minutes: minutes,
    complete: false,
    licenses: [
      { license_id: 1, product: "CAD", floating_users: 10, in_use: stepNumbers.map(wave(9, 20)) },
      { license_id: 2, product: HOSTILE, floating_users: 2, in_use: stepNumbers.map(wave(2, 9)) },
      { license_id: 3, product: "OLD", floating_users: 3, in_use: stepNumbers.map(() => null) },
    ],
    refusals: [
      { product: HOSTILE, code: "floating_not_available", counts: stepNumbers.map(wave(4, 15)) },
    ],
  };
}
