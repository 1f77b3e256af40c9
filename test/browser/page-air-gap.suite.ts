// The air-gap wizard: from an empty data folder to a registered user by codes read over the phone.
// Rows are mistyped, corrected, pasted and scanned.
import { beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { makeTempFolder } from "../support/suite-harness.ts";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import {
  createToken,
  expectEventually,
  HOSTILE,
  openSignedIn,
  OperatorPage,
  serveSite,
  type ServedSite,
} from "./operator-page.ts";
import { createVendorDesk, dropFile, tryRegister, type VendorDesk } from "./vendor-desk.ts";

/** A license key is for one site. */
const KEY = "K-1 <b>'quoted'</b>";
const NEW_SITE_KEY = "K-2 <b>'quoted'</b>";
const RIGHT = /✓/;
const WRONG = /ask for this row again/;
const ALL_RIGHT = "All rows are correct.";

let desk: VendorDesk;
let policyFile: string;
let policy: string;
let initialization: string;

/** A site that trusts the vendor. */
let site: ServedSite;
let token: string;

beforeAll(async () => {
  const root = makeTempFolder();
  desk = createVendorDesk(join(root, "desk"), "Acme <i>Ltd</i>", "CAD", HOSTILE);
  policyFile = join(root, "policy.jwt");
  const terms = [
    "--policy-id",
    "basic <b>",
    "--product",
    HOSTILE,
    "--slots",
    "5",
    "--valid-until",
    "never",
  ];
  BERTH_COMMANDS.run("vendor", "policy", "--dir", desk.folder, ...terms, "--out", policyFile);
  policy = readFileSync(policyFile, "utf8");
  initialization = BERTH_COMMANDS.run("vendor", "init-code").trim();
  site = await serveSite();
  token = await createToken(site);
  const trust = join(desk.folder, "trust.jwt");
  BERTH_COMMANDS.run("trust", "add", trust, "--data", site.folder, "--yes");
});

test("the air-gap wizard marks an initialization code with a typing error, and accepts the right one in lower case", async () => {
  const { opened, page } = await openKeyStep();
  await page.getByText("The vendor also gave an initialization code").click();
  await rowInput(page, 1).pressSequentially(withTypingError(initialization, 7));
  await expectMark(page, 1, WRONG);
  expect(await createButton(page).isDisabled()).toBe(true);
  await opened.checkAccessibility("air-gap wizard, a wrong initialization code");
  await rowInput(page, 1).fill("");
  await rowInput(page, 1).pressSequentially(initialization.toLowerCase());
  await expectMark(page, 1, RIGHT);
  await opened.saveScreenshot("air-gap-2-key");
});

test("the air-gap wizard shows the activation code in two rows, spelled, and as a QR code", async () => {
  const { opened, page } = await openKeyStep();
  await createButton(page).click();
  const code = page.locator(".code-display");
  await code.waitFor();
  expect(await code.locator("li").count()).toBe(2);
  await page.getByRole("button", { name: "Show spelling" }).click();
  await code.locator(".words").first().waitFor();
  // A word for every symbol.
  const words = (await code.locator(".words").allTextContents()).join(" ").split(" ");
  expect(words).toHaveLength(35);
  await opened.checkAccessibility("air-gap wizard, spelling of the activation code");
  await opened.saveScreenshot("air-gap-3-spelling");
  await page.getByRole("button", { name: "Hide spelling" }).click();
  await page.getByRole("button", { name: "Show as QR code" }).click();
  await page.getByRole("img", { name: "QR code" }).waitFor();
  await opened.checkLayouts("air-gap-activation");
});

test("the air-gap wizard refuses a file that is no policy, and names the policy of one that is", async () => {
  const { opened, page } = await openKeyStep();
  await createButton(page).click();
  await page.getByRole("button", { name: "I have the confirmation code" }).click();
  await dropFile(page, "not a policy at all", "policy.jwt");
  await page.getByText("This is not a policy.").waitFor();
  await dropFile(page, policy, "policy.jwt");
  await page.getByText(`Policy basic <b> for ${HOSTILE}`).waitFor();
  await opened.checkAccessibility("air-gap wizard, policy");
});

test("of a typed confirmation code only the row with an error is wrong, until it is corrected", async () => {
  const { opened, page, codeRows } = await openConfirmationStep();
  await page.getByText("6 rows are incomplete.").waitFor();
  await rowInput(page, 1).focus();
  const wrongRow = codeRows[2] ?? "";
  const typedRows = codeRows.with(2, withTypingError(wrongRow, 9));
  // In one go: after a full row the next one has the focus. Case and hyphens make no difference.
  for (const [index, text] of typedRows.entries()) {
    await page.keyboard.type(index % 2 === 0 ? text.replaceAll("-", "").toLowerCase() : text);
    if (index < 2) await expectMark(page, index + 1, RIGHT);
  }
  await expectMark(page, typedRows.length, RIGHT);
  const marks = await page.locator(".code-row .mark").allTextContents();
  expect(marks.map((text) => text.charAt(0))).toEqual(["✓", "✓", "✗", "✓", "✓", "✓"]);
  // What a screen reader announces.
  expect(await page.locator(".code-entry [role=status]").textContent()).toBe(
    "Row 3 is wrong: ask for it again.",
  );
  const installButton = page.getByRole("button", { name: "Install the license" });
  expect(await installButton.isDisabled()).toBe(true);
  await opened.checkLayouts("air-gap-wrong-row");

  // Corrected inside the row: the caret must not move.
  await rowInput(page, 3).focus();
  await page.evaluate("document.activeElement.setSelectionRange(10, 10)");
  const caret = () => page.evaluate<number>("document.activeElement.selectionStart");
  await page.keyboard.press("Backspace");
  expect(await caret()).toBe(9);
  await page.keyboard.type(wrongRow.charAt(9).toLowerCase());
  expect(await caret()).toBe(10);
  await expectMark(page, 3, RIGHT);
  await page.getByText(ALL_RIGHT).waitFor();
  await opened.saveScreenshot("air-gap-5-correct");
});

test("a field that the user moves to as soon as its step appears keeps the focus", async () => {
  const { page } = await openKeyStep();
  await page.getByRole("button", { name: "Back" }).click();
  await page.evaluate(
    `new MutationObserver((_, observer) => {
      const field = document.querySelector("main input:not([type=file])");
      if (field === null) return;
      observer.disconnect();
      field.focus();
    }).observe(document.body, { childList: true, subtree: true })`,
  );
  await page.getByRole("button", { name: "Continue" }).click();
  // After two painted frames, everything that follows a change of the step is done.
  const focused = await page.evaluate<string>(
    `new Promise((resolve) => requestAnimationFrame(() => setTimeout(() =>
      requestAnimationFrame(() => setTimeout(() => resolve(document.activeElement.tagName))))))`,
  );
  expect(focused).toBe("INPUT");
});

test("a confirmation code pasted into one row fills all rows", async () => {
  const { page, codeRows } = await openConfirmationStep();
  await rowInput(page, 3).focus();
  await page.evaluate(
    `(() => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text", ${JSON.stringify(codeRows.join("\n"))});
      const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
      document.activeElement.dispatchEvent(event);
    })()`,
  );
  await page.getByText(ALL_RIGHT).waitFor();
});

test("an empty site gets a license by codes that a scanner types, and a user can register", async () => {
  const newSite = await serveSite();
  const opened = await OperatorPage.open(`${newSite.url}#/licenses/air-gap`);
  const { page } = opened;
  await opened.createToken();
  await dropFile(page, desk.trust, "trust.jwt");
  await page.getByRole("button", { name: /trust this vendor/ }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByLabel("License key").fill(NEW_SITE_KEY);
  await page.getByText("The vendor also gave an initialization code").click();
  await rowInput(page, 1).pressSequentially(initialization);
  const codeRows = await exchangeCodes(page, NEW_SITE_KEY, [
    "--initialization-code",
    initialization,
  ]);
  await rowInput(page, 1).focus();
  // A scanner presses Enter after each line.
  for (const key of codeRows.join("\n")) await page.keyboard.press(key === "\n" ? "Enter" : key);
  await page.getByText(ALL_RIGHT).waitFor();
  // A scanner may send a second line end before the server has answered.
  let sent = 0;
  await page.route("**/api/v4/airgap/license", async (route) => {
    sent += 1;
    await Bun.sleep(200);
    await route.continue();
  });
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "License installed" }).waitFor();
  expect(sent).toBe(1);
  await page.getByText(`${HOSTILE} is installed`).waitFor();
  expect(await page.locator(".steps .done").count()).toBe(5);
  await opened.checkAccessibility("air-gap wizard, license installed");
  await opened.saveScreenshot("air-gap-5-installed");
  expect(await tryRegister(newSite.url, "ada", HOSTILE)).toBe(true);
  await page.getByRole("link", { name: "View the license" }).click();
  await page.getByRole("heading", { name: "Vendor and hardware" }).waitFor();
  await newSite.stop();
});

test("an activation code is listed as an open request, can be shown again and cancelled", async () => {
  const { opened, page } = await openKeyStep();
  await page.getByLabel("License key").fill("LISTED-1");
  await createButton(page).click();
  await page.locator(".code-display").waitFor();
  const code = await page.locator(".code-display").textContent();
  await page.goto(`${site.url}#/licenses`);
  const request = page.locator(".open-requests li").filter({ hasText: "LISTED-1" });
  await request.getByRole("button", { name: /^Show again/ }).click();
  await page.getByRole("dialog").locator(".code-display").waitFor();
  expect(await page.getByRole("dialog").locator(".code-display").textContent()).toBe(code);
  await opened.checkAccessibility("licenses page, an activation code shown again");
  await page.keyboard.press("Escape");
  await request.getByRole("button", { name: /^Cancel request/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel request" }).click();
  await expectEventually(() => request.count(), 0);
});

interface OpenWizard {
  readonly opened: OperatorPage;
  readonly page: Page;
}

/** Opens the wizard at its second step, with a license key. */
async function openKeyStep(): Promise<OpenWizard> {
  const opened = await openSignedIn(site, token, "#/licenses/air-gap");
  const { page } = opened;
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByLabel("License key").fill(KEY);
  return { opened, page };
}

/** Opens the wizard at its last step, with the rows of the vendor's confirmation code. */
async function openConfirmationStep(): Promise<OpenWizard & { readonly codeRows: string[] }> {
  const wizard = await openKeyStep();
  return { ...wizard, codeRows: await exchangeCodes(wizard.page, KEY, []) };
}

/** From the second step to the last one; the flags are those of the vendor's command. */
async function exchangeCodes(page: Page, key: string, flags: readonly string[]): Promise<string[]> {
  await createButton(page).click();
  await page.locator(".code-display").waitFor();
  const rows = await page.locator(".code-display li").allTextContents();
  const code = rows.map((text) => text.replaceAll(/.{5}(?=.)/g, "$&-")).join("\n");
  const deskFlags = ["--dir", desk.folder, "--policy", policyFile, "--license-key", key];
  const codeFlags = ["--activation-code", code, ...flags, "--allow-weak-binding", "--json"];
  const output = BERTH_COMMANDS.run("vendor", "confirm", ...deskFlags, ...codeFlags);
  const { confirmation_code } = JSON.parse(output) as { readonly confirmation_code: string };
  await page.getByRole("button", { name: "I have the confirmation code" }).click();
  await dropFile(page, policy, "policy.jwt");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("heading", { name: "Step 5 of 5: Confirmation code" }).waitFor();
  return confirmation_code.split("\n");
}

const createButton = (page: Page): Locator =>
  page.getByRole("button", { name: "Create the activation code" });

const rowInput = (page: Page, number: number): Locator =>
  page.locator(".code-row input").nth(number - 1);

/** Waits for the mark of a row of a code. */
async function expectMark(page: Page, number: number, pattern: RegExp): Promise<void> {
  const mark = page.locator(".code-row .mark").nth(number - 1);
  await expectEventually(async () => pattern.test((await mark.textContent()) ?? ""), true);
}

/** Replaces the symbol at an index by another one. */
function withTypingError(text: string, at: number): string {
  const symbol = text.charAt(at) === "7" ? "8" : "7";
  return `${text.slice(0, at)}${symbol}${text.slice(at + 1)}`;
}
