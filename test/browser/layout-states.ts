// The dialogs, steps and errors that follow from the screens of the operator's page.
import type { Locator, Page } from "playwright-core";
import { dropAnywhere } from "./vendor-desk.ts";

/** A dialog, a step or an error that a screen shows after an action. */
export interface State {
  readonly name: string;
  readonly open: (page: Page) => Promise<void>;
  /** True: it is in the dialog of the state before, which stays open. */
  readonly isWithinDialog?: boolean;
}

export const heading = (name: string | RegExp) => (page: Page) =>
  page.getByRole("heading", { name });
export const button = (page: Page, name: string | RegExp): Locator =>
  page.getByRole("button", { name }).first();

/** Presses a button that opens a dialog. */
export const dialog = (name: string, label: string | RegExp): State => ({
  name,
  async open(page) {
    await button(page, label).click();
    await page.getByRole("dialog").waitFor();
  },
});

/** Sends the form of a screen or of an open dialog with a value that the server refuses. */
const refusal = (name: string, field: string, value: string, submit: string): State => ({
  name,
  isWithinDialog: true,
  async open(page) {
    await page.getByLabel(field).fill(value);
    await button(page, submit).click();
    await page.locator(".field").getByRole("alert").waitFor();
  },
});

/** What follows from a section of the settings. */
export const SECTION_STATES: Readonly<Record<string, readonly State[]>> = {
  access: [
    dialog("token dialog", "Create a token"),
    refusal("refused token name", "Token name", "not a name!", "Create the token"),
    dialog("user dialog", "Add a user"),
    {
      name: "refused password of a user",
      isWithinDialog: true,
      async open(page) {
        await page.getByRole("dialog").getByLabel("Name").fill("operator");
        await refusal("", "Password", "short", "Save").open(page);
      },
    },
    dialog("revoke dialog", /^Revoke the token/),
  ],
  general: [refusal("refused setting", "Expiry warning (days)", "999", "Save changes")],
  network: [refusal("refused networks", "Client networks", "10.0.0.0/99", "Save changes")],
  backups: [
    dialog("schedule dialog", "Change…"),
    refusal("refused number", "Backups to keep", "0", "Save"),
    dialog("save dialog", "Save a backup"),
  ],
};

/** A text that has the form of a policy; only the server verifies it. */
const POLICY = [{ typ: "berth-policy+jwt" }, {}]
  .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
  .concat("signature")
  .join(".");

const next = (name: string, label: string, step: RegExp): State => ({
  name,
  async open(page) {
    await button(page, label).click();
    await heading(step)(page).waitFor();
  },
});

const showQr: State = {
  name: "QR codes",
  async open(page) {
    await button(page, "Show as QR code").click();
    await page.locator(".qr img").waitFor();
  },
};

export const REQUEST_STEPS: readonly State[] = [
  {
    name: "request",
    async open(page) {
      await page.getByLabel("Product code").fill("CAD");
      await page.getByLabel("Note for the vendor").fill("W".repeat(500));
      await next("", "Create the request", /^Step 3/).open(page);
    },
  },
  showQr,
  next("send", "Continue", /^Step 4/),
  next("install", "Install the license", /^Step 5/),
];

export const PHONE_STEPS: readonly State[] = [
  next("license key", "Continue", /^Step 2/),
  {
    name: "activation code, spelled out",
    async open(page) {
      await page.getByLabel("License key").fill("FLUID-2027-0001-0002");
      await next("", "Create the activation code", /^Step 3/).open(page);
      await button(page, "Show spelling").click();
    },
  },
  next("policy", "I have the confirmation code", /^Step 4/),
  {
    name: "confirmation code",
    async open(page) {
      await page.getByText("Or paste its text").click();
      await page.getByLabel("Text of the policy file").fill(POLICY);
      await button(page, "Use this text").click();
      await next("", "Continue", /^Step 5/).open(page);
      await page.getByLabel("Row 1").fill("0".repeat(40));
    },
  },
];

export const DROP_STATES: readonly State[] = [
  {
    name: "file over the page",
    async open(page) {
      const files = await page.evaluateHandle(
        `(() => { const files = new DataTransfer(); files.items.add(new File([""], "a")); return files; })()`,
      );
      await page.dispatchEvent("main", "dragenter", { dataTransfer: files });
      await page.locator(".page-drop").waitFor();
    },
  },
  {
    name: "dropped file",
    async open(page) {
      await dropAnywhere(page, `{"kty":"OKP","d":"AAAA"}`, "vendor.key");
      await page.getByRole("dialog").waitFor();
    },
  },
];

/** What follows from the reports; the days of denied episodes only where there are some. */
export const REPORT_STATES: readonly State[] = [
  {
    name: "days from – to",
    async open(page) {
      await button(page, "From – to").click();
      await page.getByLabel("From", { exact: true }).waitFor();
    },
  },
  {
    name: "days in the wrong order",
    async open(page) {
      await page.getByLabel("From", { exact: true }).fill("2026-12-01");
      await page.getByLabel("To", { exact: true }).fill("2026-11-01");
      await page.getByText("The first day is after the last one.").waitFor();
    },
  },
  {
    name: "a day",
    async open(page) {
      const day = page.locator(".day-bars button").last();
      if ((await day.count()) === 0) return;
      await day.click();
      await page.getByRole("region", { name: /^Denied episodes on/ }).waitFor();
      await page.getByText("Show days as table").click();
    },
  },
];

const OPTIONS = `GROUP sim ada grace
RESERVE 2 cad_base GROUP sim
TIMEOUT cad_base 3600
EXCLUDE ${"feature-with-a-very-long-name-".repeat(4)} USER ada
`;

/** What follows from the editor of rules. */
export const RULES_STATES: readonly State[] = [
  {
    name: "findings",
    async open(page) {
      const long = "a-very-long-name-".repeat(6);
      const editor = page.getByLabel("Rules of this site (TOML)");
      await editor.fill(`[[rule]]\nproduct = "CAD"\ndeny = ["${long}"]\n${long} = 3\n`);
      await page.getByText("2 errors").waitFor();
    },
  },
  {
    name: "preview",
    async open(page) {
      const groups = `[groups.some]\nusers = ["user-*", "<*"]\n`;
      const rule = `[[rule]]\nproduct = "CAD"\ndeny = ["some"]\nreserve = [{ group = "some", slots = 1 }]\n`;
      await page.getByLabel("Rules of this site (TOML)").fill(`${groups}\n${rule}`);
      await page.getByText("would get no new one: denied").waitFor();
    },
  },
  dialog("clear dialog", "Clear the rules"),
  dialog("import dialog", "Import FlexNet options…"),
  {
    name: "converted options",
    isWithinDialog: true,
    async open(page) {
      const file = { name: "vendor.opt", mimeType: "", buffer: Buffer.from(OPTIONS) };
      await page.getByLabel("Choose an options file").setInputFiles(file);
      await page.getByText("Without an equivalent").waitFor();
    },
  },
  {
    name: "explanation",
    async open(page) {
      await page.getByLabel("User", { exact: true }).fill("user-1");
      await page.getByRole("button", { name: "Explain", exact: true }).click();
      await page.locator(".explanation .notice").first().waitFor();
    },
  },
];

export const menu: State = {
  name: "menu",
  async open(page) {
    await button(page, /^Menu\b/).click();
    await page.locator("#account-menu:popover-open").waitFor();
  },
};

/** Leaves an open dialog by its last button for that, and an open menu by the keyboard. */
export async function closeDialog(page: Page): Promise<void> {
  const dialog = page.locator("dialog[open]");
  if ((await dialog.count()) > 0) {
    await dialog
      .getByRole("button", { name: /^(?:Cancel|Close)$/ })
      .last()
      .click();
    await dialog.waitFor({ state: "detached" });
  } else if ((await page.locator(":popover-open").count()) > 0) {
    await page.keyboard.press("Escape");
  }
}
