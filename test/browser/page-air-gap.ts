// From an empty data folder to a registered user where nothing but a voice goes out: two codes, one
// of them misheard at first, typed, pasted and scanned.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { check, finish, makeTempFolder } from "../support/suite-harness.ts";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import { comesTrue, HOSTILE, isShown, OperatorPage, serveSite } from "./operator-page.ts";
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
const row = (number: number) => page.locator(".code-row input").nth(number - 1);
const mark = (number: number) => page.locator(".code-row .mark").nth(number - 1);
const marked = async (number: number) => (await mark(number).textContent()) ?? "";
const isMarked = (number: number, as: RegExp) =>
  comesTrue(async () => as.test(await marked(number)));

await opened.createToken();
await dropFile(page, desk.trust, "trust.jwt");
await page.getByRole("button", { name: /accept this vendor/ }).click();
await page.getByRole("button", { name: "Go on" }).click();

// The vendor's initialization code, with a slip of the finger.
await page.getByLabel("License key").fill(KEY);
await page.getByText("The vendor gave an initialization code").click();
await row(1).pressSequentially(slip(initialization, 7));
check("a wrong row is told at once", await isMarked(1, /read this row again/), await marked(1));
const make = page.getByRole("button", { name: "Make the activation code" });
check("and nothing is made of it", await make.isDisabled());
await opened.checkAccessibility("a wrong initialization code");
await row(1).fill("");
await row(1).pressSequentially(initialization.toLowerCase());
check("the right one is said to be right", await isMarked(1, /✓/), await marked(1));
await opened.saveScreenshot("air-gap-2-key");
await make.click();

// The activation code, to be read aloud.
await page.locator(".code-shown").waitFor();
const rows = await page.locator(".code-shown li").allTextContents();
const code = rows.map((text) => text.replaceAll(/.{5}(?=.)/g, "$&-")).join("\n");
check("two rows of groups", rows.length === 2, rows);
await page.getByRole("button", { name: "Spell it out" }).click();
await page.locator(".code-shown .words").first().waitFor();
const words = (await page.locator(".code-shown .words").allTextContents()).join(" ").split(" ");
check("every symbol has its word", words.length === 35, words);
await opened.checkAccessibility("the activation code, spelled");
await opened.saveScreenshot("air-gap-3-spelled");
await page.getByRole("button", { name: "Only the code" }).click();
await page.getByRole("button", { name: "Show as QR code" }).click();
await page.getByRole("img", { name: "QR code" }).waitFor();
await opened.checkLayouts("air-gap-activation");

const read = ["--license-key", KEY, "--activation-code", code];
const asked = [...read, "--initialization-code", initialization, "--allow-weak-binding", "--json"];
const at = ["--dir", desk.folder, "--policy", policyFile];
const confirmed = BERTH_COMMANDS.run("vendor", "confirm", ...at, ...asked);
const { confirmation_code } = JSON.parse(confirmed) as { confirmation_code: string };
const answer = confirmation_code.split("\n");

await page.getByRole("button", { name: "I have the confirmation code" }).click();
await dropFile(page, "not a policy at all", "policy.jwt");
await page.getByText("This is no policy.").waitFor();
await dropFile(page, policy, "policy.jwt");
await page.getByText(`Policy basic <b> for ${HOSTILE}`).waitFor();
await opened.checkAccessibility("the policy");
await page.getByRole("button", { name: "Go on" }).click();

// Typed row by row, the third one misheard.
await page.getByRole("heading", { name: "Step 5 of 5: Confirmation code" }).waitFor();
check("six rows are to come", await isShown(page.getByText("6 rows are to come.")));
await row(1).focus();
const heard = answer.with(2, slip(answer[2] ?? "", 9));
for (const [index, text] of heard.entries()) {
  await page.keyboard.type(index % 2 === 0 ? text.replaceAll("-", "").toLowerCase() : text);
  if (index < 2) check(`row ${index + 1} is right`, await isMarked(index + 1, /✓/));
}
await isMarked(heard.length, /✓/);
const marks = await page.locator(".code-row .mark").allTextContents();
const rest = await page.locator(".code-entry [role=status]").textContent();
check("what is left is said to whoever listens", rest === "To be read again: row 3.", rest);
check(
  "only the misheard row is wrong, though everything was typed in one go",
  marks.every((text, index) => (index === 2 ? text.startsWith("✗") : text.startsWith("✓"))),
  marks,
);
const install = page.getByRole("button", { name: "Install the license" });
check("and nothing can be installed", await install.isDisabled());
await opened.checkLayouts("air-gap-wrong-row");

// Corrected in place: the caret stays where it was put.
await row(3).focus();
await page.evaluate("document.activeElement.setSelectionRange(10, 10)");
const caret = () => page.evaluate<number>("document.activeElement.selectionStart");
await page.keyboard.press("Backspace");
check("the caret does not jump when a symbol is taken out", (await caret()) === 9, await caret());
await page.keyboard.type((answer[2] ?? "").charAt(9).toLowerCase());
check("nor when another takes its place", (await caret()) === 10, await caret());
check("the corrected row is right", await isMarked(3, /✓/), await marked(3));
check("every row is right", await isShown(page.getByText("Every row is right.")));
await opened.saveScreenshot("air-gap-5-right");

// Pasted whole, in the third row; then as a scanner types it, line by line and Enter at the end.
for (const line of [1, 2, 3, 4, 5, 6]) await row(line).fill("");
await row(3).focus();
await page.evaluate(
  `(() => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text", ${JSON.stringify(confirmation_code)});
    const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
    document.activeElement.dispatchEvent(event);
  })()`,
);
check("a pasted code fills every row", await isShown(page.getByText("Every row is right.")));
for (const line of [1, 2, 3, 4, 5, 6]) await row(line).fill("");
await row(1).focus();
for (const key of confirmation_code) await page.keyboard.press(key === "\n" ? "Enter" : key);
check("a scanned code, too", await isShown(page.getByText("Every row is right.")));
await page.keyboard.press("Enter");
await page.getByText(`${HOSTILE} is installed`).waitFor();
await opened.checkAccessibility("installed by codes");
await opened.saveScreenshot("air-gap-5-installed");
check("from nothing to a registered user by codes", await tryRegister(site.url, "ada", HOSTILE));

opened.checkNoErrors("the air-gap walk");
await opened.close();
await site.stop();
finish();

/** The same with one symbol misheard. */
function slip(text: string, at: number): string {
  const heard = text.charAt(at) === "7" ? "8" : "7";
  return `${text.slice(0, at)}${heard}${text.slice(at + 1)}`;
}
