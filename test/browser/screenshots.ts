// `bun test/browser/screenshots.ts` takes the README's pictures anew: a site after an ordinary week, and
// both ways to a license.
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
const terms = ["--policy-id", "standard", "--product", "CAD", "--slots", "5"];
BERTH_COMMANDS.run("vendor", "policy", "--dir", desk.folder, ...terms, "--out", policy);

await createBusyWeek(folder);
const { url } = await serveSite(folder);
const { page } = await begin(url);
await overview(page);
await slots(page);
await request(page);
await airGap((await begin((await serveSite()).url)).page);
// The browser would go on.
process.exit();

async function begin(at: string): Promise<OperatorPage> {
  const opened = await OperatorPage.open(at, { viewport: VIEWPORT });
  await opened.createToken();
  return opened;
}

async function overview(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Week" }).click();
  await page.getByText("still being read").waitFor({ state: "hidden" });
  await page.waitForTimeout(500);
  await saveScreenshot(page, "overview");
}

async function slots(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Slots", exact: true }).click();
  await page.getByText("h.novak").first().waitFor();
  await saveScreenshot(page, "slots");
}

async function request(page: Page): Promise<void> {
  await page.goto(`${url}#/licenses/request`);
  await page.getByRole("button", { name: "CAD", exact: true }).click();
  await page.getByRole("button", { name: "Make the request" }).click();
  await page.getByRole("button", { name: "Show as QR code" }).click();
  await page.getByText("frame 1 of").waitFor();
  await saveScreenshot(page, "request");
}

/** As far as a row that was misheard. */
async function airGap(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Licenses", exact: true }).click();
  await page.goto(`${new URL(page.url()).origin}/#/licenses/air-gap`);
  await dropFile(page, desk.trust, "trust.jwt");
  await page.getByRole("button", { name: /accept this vendor/ }).click();
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByLabel("License key").fill(KEY);
  await page.getByRole("button", { name: "Make the activation code" }).click();
  const rows = await page.locator(".code-shown li").allTextContents();
  const at = ["--dir", desk.folder, "--policy", policy, "--allow-weak-binding", "--json"];
  const said = ["--license-key", KEY, "--activation-code", rows.join("\n")];
  const confirmed = BERTH_COMMANDS.run("vendor", "confirm", ...at, ...said);
  const { confirmation_code } = JSON.parse(confirmed) as { readonly confirmation_code: string };
  await page.getByRole("button", { name: "I have the confirmation code" }).click();
  await dropFile(page, readFileSync(policy, "utf8"), "policy.jwt");
  await page.getByRole("button", { name: "Go on" }).click();
  const first = page.locator(".code-row input").first();
  await first.focus();
  const heard = confirmation_code.split("\n");
  heard[2] = (heard[2] ?? "").replace(/.$/, (last) => (last === "7" ? "8" : "7"));
  for (const row of heard.slice(0, 5)) await page.keyboard.type(row);
  await saveScreenshot(page, "air-gap");
}

async function saveScreenshot(page: Page, name: string): Promise<void> {
  mkdirSync(SCREENSHOT_FOLDER, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOT_FOLDER, `${name}.png`) });
}
