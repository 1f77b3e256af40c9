// `bun test/browser/screenshots.ts` renews the README's screenshots: a site after an ordinary week,
// the request wizard and the air-gap wizard.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { makeTempFolder } from "../support/suite-harness.ts";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import { createBusyWeek } from "./busy-week.ts";
import { dropFile, createVendorDesk } from "./vendor-desk.ts";
import { OperatorPage, serveSite } from "./operator-page.ts";

const SCREENSHOT_FOLDER = join(import.meta.dir, "..", "..", ".pictures");
const VIEWPORT = { width: 1_200, height: 800 };
const KEY = "HARBOUR-2027";

const root = makeTempFolder();
const folder = join(root, "site");
const desk = createVendorDesk(join(root, "desk"), "Harbour Tools", "CAD");
const policy = join(root, "policy.jwt");
const terms = [
  "--policy-id",
  "standard",
  "--product",
  "CAD",
  "--slots",
  "5",
  "--valid-until",
  "never",
];
BERTH_COMMANDS.run("vendor", "policy", "--dir", desk.folder, ...terms, "--out", policy);

await createBusyWeek(folder);
const { url } = await serveSite(folder, "--site-name", "Plant 4");
const { page } = await openSignedIn(url);
await captureOverview(page);
await captureReport(page);
await captureSlots(page);
await captureRequest(page);
const newSite = await serveSite(join(root, "new"), "--site-name", "Plant 5");
await captureAirGap((await openSignedIn(newSite.url)).page);
// The browser would keep the process running.
process.exit();

async function openSignedIn(siteUrl: string): Promise<OperatorPage> {
  const opened = await OperatorPage.openUntilClosed(siteUrl, { viewport: VIEWPORT });
  await opened.createToken();
  return opened;
}

async function captureOverview(page: Page): Promise<void> {
  await page
    .getByRole("img", { name: /^Last 7 days/ })
    .first()
    .waitFor();
  await page.waitForTimeout(500);
  await saveScreenshot(page, "overview");
}

async function captureReport(page: Page): Promise<void> {
  await page.goto(`${url}#/reports/MESH/range=week`);
  await page.locator(".chart canvas").first().waitFor();
  await page.locator(".answer").waitFor();
  await saveScreenshot(page, "report");
}

async function captureSlots(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Slots", exact: true }).click();
  await page.getByText("h.novak").first().waitFor();
  await saveScreenshot(page, "slots");
}

async function captureRequest(page: Page): Promise<void> {
  await page.goto(`${url}#/licenses/request`);
  await page.getByRole("button", { name: "CAD", exact: true }).click();
  await page.getByRole("button", { name: "Create the request" }).click();
  await page.getByRole("button", { name: "Show as QR code" }).click();
  await page.getByText("frame 1 of").waitFor();
  await saveScreenshot(page, "request");
}

/** Up to a confirmation code with a wrong row. */
async function captureAirGap(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Licenses", exact: true }).click();
  await page.goto(`${new URL(page.url()).origin}/#/licenses/air-gap`);
  await dropFile(page, desk.trust, "trust.jwt");
  await page.getByRole("button", { name: /trust this vendor/ }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByLabel("License key").fill(KEY);
  await page.getByRole("button", { name: "Create the activation code" }).click();
  await page.locator(".code-display li").first().waitFor();
  const rows = await page.locator(".code-display li").allTextContents();
  const deskFlags = ["--dir", desk.folder, "--policy", policy, "--allow-weak-binding", "--json"];
  const codeFlags = ["--license-key", KEY, "--activation-code", rows.join("\n")];
  const output = BERTH_COMMANDS.run("vendor", "confirm", ...deskFlags, ...codeFlags);
  const { confirmation_code } = JSON.parse(output) as { readonly confirmation_code: string };
  await page.getByRole("button", { name: "I have the confirmation code" }).click();
  await dropFile(page, readFileSync(policy, "utf8"), "policy.jwt");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.locator(".code-row input").first().focus();
  const codeRows = confirmation_code.split("\n");
  codeRows[2] = (codeRows[2] ?? "").replace(/.$/, (symbol) => (symbol === "7" ? "8" : "7"));
  for (const row of codeRows.slice(0, 5)) await page.keyboard.type(row);
  await saveScreenshot(page, "air-gap");
}

async function saveScreenshot(page: Page, name: string): Promise<void> {
  mkdirSync(SCREENSHOT_FOLDER, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOT_FOLDER, `${name}.png`) });
}
