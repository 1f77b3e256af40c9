// The overview: licenses in every state, how they were used, and how soon a change is seen, also
// after the server was away.
import { check, finish, atEnd, isSoak } from "../support/suite-harness.ts";
import { startBinary } from "../support/binary.ts";
import { callApi, startLicensedSite } from "./licensed-site.ts";
import { comesTrue, DESKTOP, HOSTILE, isShown, OperatorPage, PHONE } from "./operator-page.ts";

const site = await startLicensedSite({
  CAD: ["--slots", "10", "--consumptions", "100"],
  [HOSTILE]: ["--slots", "2"],
  OLD: null,
});
for (let user = 1; user <= 9; user += 1)
  await callApi(site, "register", { product: "CAD", user: `user-${user}` });
for (const user of ["ada", HOSTILE]) await callApi(site, "register", { product: HOSTILE, user });
const refused = await callApi(site, "register", { product: HOSTILE, user: "late" });
check("the third is refused", refused.status === 400);

const opened = await OperatorPage.open(site.url);
const { page } = opened;
await opened.createToken();
const card = (product: string) =>
  page.getByRole("article").filter({ has: page.getByRole("link", { name: product, exact: true }) });
await card("CAD").getByText("9 of 10 slots in use").waitFor();
check("nearly full", await isShown(card("CAD").getByText("1 free")));
check("full, and a hostile name is a name", await isShown(card(HOSTILE).getByText("all taken")));
installOld();
await card("OLD").getByText("ended").waitFor();
check(
  "ended, without a reload",
  await isShown(page.getByText("OLD grants nothing now: license ended")),
);

await page.locator(".health").getByRole("link").click();
await page.getByRole("heading", { name: "Exposures" }).waitFor();
check("the number of exposures links to the list of them", true);
await page.getByRole("link", { name: "Overview" }).click();

// How it was: a day as the server has seen it, and a week that cannot be waited for.
const day = page.getByRole("img", { name: /^Slots in use over the last day: CAD at most 9 of 10/ });
await day.waitFor();
await opened.saveScreenshot("overview-first-day");
// It is asked for again every other second, and each answer draws the charts anew, whoever points at
// them: only the first is answered.
let isAnswered = false;
let keepWaiting = (): void => {};
const isAskedAgain = new Promise<void>((resolve) => (keepWaiting = resolve));
await page.route("**/api/admin/v1/usage?*", async (route) => {
  if (!route.request().url().endsWith("range=week")) return;
  if (isAnswered) return keepWaiting();
  isAnswered = true;
  await route.fulfill({ json: usageOver("week") });
});
const weekly = page.getByRole("button", { name: "Week" });
await weekly.click();
const week = page.getByRole("img", { name: /^Slots in use over the last week: CAD at most 9/ });
await week.waitFor();
check("a week instead", (await weekly.getAttribute("aria-pressed")) === "true");
/** Two pictures of the same chart are the same text. */
const drawn = () => page.evaluate<string>(`document.querySelector(".chart canvas").toDataURL()`);
check("that there is more to come is said", await isShown(page.getByText("still being read")));
await opened.checkAccessibility("overview");
await opened.saveScreenshot("overview");
await page.locator(".usage").scrollIntoViewIfNeeded();
await opened.saveScreenshot("overview-usage");
const { x = 0, y = 0, width: across = 0 } = (await week.locator(".u-over").boundingBox()) ?? {};
const legend = page.locator(".legend li").first();
const whole = await legend.textContent();
await page.mouse.move(x + across - 2, y + 20);
await page.getByText(/^From .* on:$/).waitFor();
check("who points at it reads a moment", (await legend.textContent()) === "CAD 9 of 10", whole);
// Only in its last step: a neighbour's number would be another.
const below = await page.locator(".legend").last().locator("li").textContent();
check("below as well, of the same step", below === "no free slot 4", below);
await page.mouse.move(x + across * 0.25, y + 20);
await legend.getByText("not known").waitFor();
await page.mouse.move(0, 0);
await page.getByText("Point at a chart").waitFor();
check("and the whole again afterwards", (await legend.textContent()) === whole, whole);

const light = await drawn();
await page.getByRole("button", { name: "Switch to dark" }).click();
check("the chart follows the theme", await comesTrue(async () => (await drawn()) !== light));
const ground = await page.evaluate(`getComputedStyle(document.body).backgroundColor`);
check("and so does the page", ground === "rgb(15, 23, 25)", ground);
await opened.checkAccessibility("overview in the dark");
await opened.saveScreenshot("overview-usage-dark");
await page.setViewportSize(PHONE);
const widthOf = async () => (await week.locator("canvas").boundingBox())?.width ?? 0;
check(
  "on a phone the chart is as wide as it has room",
  await comesTrue(async () => (await widthOf()) > 250 && (await widthOf()) < PHONE.width),
  await widthOf(),
);
await opened.checkAccessibility("overview on a phone in the dark");
await page.getByRole("button", { name: "Switch to light" }).click();
await opened.checkAccessibility("overview on a phone");
await page.evaluate(`scrollTo(0, 0)`);
await opened.saveScreenshot("overview-phone");
await page.locator(".usage").scrollIntoViewIfNeeded();
await opened.saveScreenshot("overview-usage-phone");
const wide = await page.evaluate(`document.documentElement.scrollWidth`);
check("nothing is wider than a phone", wide === PHONE.width, wide);
await page.setViewportSize(DESKTOP);
await page.getByText("Show as table").click();
const lines = page
  .getByRole("region", { name: "Slots in use and refusals by time" })
  .locator("tbody tr");
await lines.first().waitFor();
check("a table says the same", (await lines.count()) === 168, await lines.count());
const newest = await lines.first().locator("td").allTextContents();
check("the newest first", newest.join() === "9 of 10,2 of 2,not known,4", newest);
await opened.checkAccessibility("a table of it");

// Somebody comes.
await page.evaluate(`scrollTo(0, 0)`);
await isAskedAgain;
const delays: number[] = [];
const asked: string[] = [];
page.on("request", (request) => asked.push(new URL(request.url()).pathname));
for (let turn = 0; turn < 3; turn += 1) {
  for (const [operation, text] of [
    ["register", "10 of 10 slots in use"],
    ["unregister", "9 of 10 slots in use"],
  ] as const) {
    await callApi(site, operation, { product: "CAD", user: "newcomer" });
    const began = performance.now();
    await card("CAD").getByText(text).waitFor();
    delays.push(Math.round(performance.now() - began));
  }
}
console.log(`seen after ${delays.join(", ")} ms`);
// A stream that was silent for long, as on a busy machine, is opened anew.
const others = asked.filter((path) => path !== "/api/admin/v1/stream");
check("a change is seen without a reload, and without asking for it", others.length === 0, others);
if (isSoak) check("within two seconds", Math.max(...delays) < 2_000, delays);

// The server goes and comes back.
await site.stop();
await page.getByText("connection lost, trying again").waitFor();
check("what was known stays, and is said not to be live", await isShown(card("CAD")));
await opened.checkAccessibility("connection lost");
await opened.saveScreenshot("overview-lost");
const { port } = new URL(site.url);
const again = await startBinary("serve", "--data", site.folder, "--listen", `127.0.0.1:${port}`);
atEnd(() => void again.kill());
const back = performance.now();
await page.getByText("live", { exact: true }).waitFor();
console.log(`back after ${Math.round(performance.now() - back)} ms`);
await callApi(site, "register", { product: "CAD", user: "newcomer" });
await card("CAD").getByText("10 of 10 slots in use").waitFor();
check("and it goes on where it was", true);

opened.checkNoErrors("the overview");
await opened.close();
await again.stop();
finish();

/** It ends while we look. One that would be over on arrival is not made: then it ends later. */
function installOld(): void {
  for (let seconds = 10; ; seconds *= 2) {
    const soon = new Date(Date.now() + seconds * 1_000).toISOString();
    try {
      return site.license("OLD", ["--slots", "3", "--valid-until", soon]);
    } catch (error) {
      if (!String(error).includes("would be over")) throw error;
    }
  }
}

/** Weeks cannot be waited for: an answer as the server gives it, with a night it was off. */
function usageOver(span: string): object {
  const [steps, minutes] = span === "day" ? [288, 5] : span === "week" ? [168, 60] : [180, 240];
  const to = Date.now();
  const times = Array.from({ length: steps }, (_, step) => step);
  const off = (step: number): boolean => step > steps * 0.2 && step < steps * 0.3;
  const wave = (most: number, slow: number) => (step: number) =>
    off(step)
      ? null
      : step === steps - 1
        ? most
        : Math.round((most / 2) * (1 + Math.sin(step / slow)));
  return {
    range: span,
    from: new Date(to - steps * minutes * 60_000).toISOString(),
    to: new Date(to).toISOString(),
    step_minutes: minutes,
    complete: false,
    licenses: [
      { license_id: 1, product: "CAD", floating_users: 10, in_use: times.map(wave(9, 20)) },
      { license_id: 2, product: HOSTILE, floating_users: 2, in_use: times.map(wave(2, 9)) },
      { license_id: 3, product: "OLD", floating_users: 3, in_use: times.map(() => null) },
    ],
    refusals: [
      { product: HOSTILE, code: "floating_not_available", counts: times.map(wave(4, 15)) },
    ],
  };
}
