// The air-gap wizard: from an empty data folder to a registered user by codes read over the phone.
// Rows are mistyped, corrected, pasted and scanned.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { check, finish, makeTempFolder } from "../support/suite-harness.ts";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import { isEventuallyTrue, HOSTILE, isShown, OperatorPage, serveSite } from "./operator-page.ts";
import { dropFile, tryRegister, createVendorDesk } from "./vendor-desk.ts";

const KEY = "K-1 <b>'quoted'</b>";

const root = makeTempFolder();
const desk = createVendorDesk(join(root, "desk"), "Acme <i>Ltd</i>", "CAD", HOSTILE);
const policyFile = join(root, "policy.jwt");
const terms = ["--policy-id", "basic <b>", "--product", HOSTILE, "--slots", "5"];
BERTH_COMMANDS.run("vendor", "policy", "--dir", desk.folder, ...terms, "--out", policyFile);
const policy = readFileSync(policyFile, "utf8");
const initialization = BERTH_COMMANDS.run("vendor", "init-code").trim();

const site = await serveSite();
const opened = await OperatorPage.open(`${site.url}#/licenses/air-gap`);
const { page } = opened;
const rowInput = (number: number) => page.locator(".code-row input").nth(number - 1);
const rowMark = (number: number) => page.locator(".code-row .mark").nth(number - 1);
const markText = async (number: number) => (await rowMark(number).textContent()) ?? "";
const isMarked = (number: number, pattern: RegExp) =>
  isEventuallyTrue(async () => pattern.test(await markText(number)));

await opened.createToken();
await dropFile(page, desk.trust, "trust.jwt");
await page.getByRole("button", { name: /trust this vendor/ }).click();
await page.getByRole("button", { name: "Continue" }).click();

// The vendor's initialization code, first with a typing error.
await page.getByLabel("License key").fill(KEY);
await page.getByText("The vendor also gave an initialization code").click();
await rowInput(1).pressSequentially(withTypingError(initialization, 7));
check(
  "a row of the initialization code with a typing error is marked as wrong",
  await isMarked(1, /ask for this row again/),
  await markText(1),
);
const createButton = page.getByRole("button", { name: "Create the activation code" });
check(
  "no activation code can be created from a wrong initialization code",
  await createButton.isDisabled(),
);
await opened.checkAccessibility("air-gap wizard, a wrong initialization code");
await rowInput(1).fill("");
await rowInput(1).pressSequentially(initialization.toLowerCase());
check(
  "a right initialization code in lower case is marked as right",
  await isMarked(1, /✓/),
  await markText(1),
);
await opened.saveScreenshot("air-gap-2-key");
await createButton.click();

// The activation code, to be read over the phone.
await page.locator(".code-display").waitFor();
const rows = await page.locator(".code-display li").allTextContents();
const code = rows.map((text) => text.replaceAll(/.{5}(?=.)/g, "$&-")).join("\n");
check("the activation code is shown in two rows", rows.length === 2, rows);
await page.getByRole("button", { name: "Show spelling" }).click();
await page.locator(".code-display .words").first().waitFor();
const words = (await page.locator(".code-display .words").allTextContents()).join(" ").split(" ");
check(
  "the spelling of the activation code has a word for every symbol",
  words.length === 35,
  words,
);
await opened.checkAccessibility("air-gap wizard, spelling of the activation code");
await opened.saveScreenshot("air-gap-3-spelling");
await page.getByRole("button", { name: "Hide spelling" }).click();
await page.getByRole("button", { name: "Show as QR code" }).click();
await page.getByRole("img", { name: "QR code" }).waitFor();
await opened.checkLayouts("air-gap-activation");

const codes = ["--activation-code", code, "--initialization-code", initialization];
const keyFlags = ["--license-key", KEY, ...codes, "--allow-weak-binding", "--json"];
const deskFlags = ["--dir", desk.folder, "--policy", policyFile];
const output = BERTH_COMMANDS.run("vendor", "confirm", ...deskFlags, ...keyFlags);
const { confirmation_code } = JSON.parse(output) as { confirmation_code: string };
const codeRows = confirmation_code.split("\n");

await page.getByRole("button", { name: "I have the confirmation code" }).click();
await dropFile(page, "not a policy at all", "policy.jwt");
await page.getByText("This is not a policy.").waitFor();
await dropFile(page, policy, "policy.jwt");
await page.getByText(`Policy basic <b> for ${HOSTILE}`).waitFor();
await opened.checkAccessibility("air-gap wizard, policy");
await page.getByRole("button", { name: "Continue" }).click();

// Typed row by row, the third one with an error.
await page.getByRole("heading", { name: "Step 5 of 5: Confirmation code" }).waitFor();
check(
  "an empty confirmation code says that six rows are incomplete",
  await isShown(page.getByText("6 rows are incomplete.")),
);
await rowInput(1).focus();
const typedRows = codeRows.with(2, withTypingError(codeRows[2] ?? "", 9));
for (const [index, text] of typedRows.entries()) {
  await page.keyboard.type(index % 2 === 0 ? text.replaceAll("-", "").toLowerCase() : text);
  if (index < 2)
    check(
      `row ${index + 1} of the confirmation code is marked as right`,
      await isMarked(index + 1, /✓/),
    );
}
await isMarked(typedRows.length, /✓/);
const marks = await page.locator(".code-row .mark").allTextContents();
const status = await page.locator(".code-entry [role=status]").textContent();
check(
  "a screen reader announces which row is wrong",
  status === "Row 3 is wrong: ask for it again.",
  status,
);
check(
  "only the row with the error is marked as wrong when all rows are typed in one go",
  marks.every((text, index) => (index === 2 ? text.startsWith("✗") : text.startsWith("✓"))),
  marks,
);
const installButton = page.getByRole("button", { name: "Install the license" });
check("a wrong confirmation code cannot be installed", await installButton.isDisabled());
await opened.checkLayouts("air-gap-wrong-row");

// Corrected inside the row: the caret must not move.
await rowInput(3).focus();
await page.evaluate("document.activeElement.setSelectionRange(10, 10)");
const caret = () => page.evaluate<number>("document.activeElement.selectionStart");
await page.keyboard.press("Backspace");
check(
  "the caret does not jump when a symbol is deleted inside a row",
  (await caret()) === 9,
  await caret(),
);
await page.keyboard.type((codeRows[2] ?? "").charAt(9).toLowerCase());
check(
  "the caret does not jump when a symbol is inserted inside a row",
  (await caret()) === 10,
  await caret(),
);
check("a corrected row is marked as right", await isMarked(3, /✓/), await markText(3));
check(
  "after the correction the page says that all rows are correct",
  await isShown(page.getByText("All rows are correct.")),
);
await opened.saveScreenshot("air-gap-5-correct");

// Pasted as a whole into the third row; then typed as a scanner does, with Enter after each line.
for (const line of [1, 2, 3, 4, 5, 6]) await rowInput(line).fill("");
await rowInput(3).focus();
await page.evaluate(
  `(() => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text", ${JSON.stringify(confirmation_code)});
    const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
    document.activeElement.dispatchEvent(event);
  })()`,
);
check(
  "a confirmation code pasted into one row fills all rows",
  await isShown(page.getByText("All rows are correct.")),
);
for (const line of [1, 2, 3, 4, 5, 6]) await rowInput(line).fill("");
await rowInput(1).focus();
for (const key of confirmation_code) await page.keyboard.press(key === "\n" ? "Enter" : key);
check(
  "a confirmation code typed by a scanner fills all rows",
  await isShown(page.getByText("All rows are correct.")),
);
await page.keyboard.press("Enter");
await page.getByText(`${HOSTILE} is installed`).waitFor();
await opened.checkAccessibility("air-gap wizard, license installed");
await opened.saveScreenshot("air-gap-5-installed");
check(
  "after a license is installed by codes a user can register",
  await tryRegister(site.url, "ada", HOSTILE),
);

opened.checkNoErrors("the air-gap wizard");
await opened.close();
await site.stop();
finish();

/** Replaces the symbol at an index by another one. */
function withTypingError(text: string, at: number): string {
  const symbol = text.charAt(at) === "7" ? "8" : "7";
  return `${text.slice(0, at)}${symbol}${text.slice(at + 1)}`;
}
