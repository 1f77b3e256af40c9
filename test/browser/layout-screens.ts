// Every screen of the operator's page, and its main dialogs.
import type { Locator, Page } from "playwright-core";
import { settings } from "../../src/web/settings/settings-texts.ts";

export interface Screen {
  readonly name: string;
  /** A path with its slash, or `#/VIEW`. */
  readonly path: string;
  /** Is there when the screen has loaded what it shows. */
  readonly ready: (page: Page) => Locator;
  /** Opens a dialog or another state of the screen. */
  readonly act?: (page: Page) => Promise<void>;
  /** False: another screen has the same controls, so Tab is not tried again. */
  readonly hasOtherControls?: boolean;
  /** Widths beyond the usual ones. */
  readonly widths?: readonly number[];
}

const heading = (name: string | RegExp) => (page: Page) => page.getByRole("heading", { name });
const press = (name: string | RegExp) => async (page: Page) => {
  await page.getByRole("button", { name }).first().click();
  await page.getByRole("dialog").waitFor();
};

const slotRows = (page: Page): Locator => page.locator(".slot-body .slot-row").first();
const auditEntries = (page: Page): Locator => page.locator(".event").first();

export const SCREENS: readonly Screen[] = [
  { name: "overview", path: "#/overview", ready: (page) => page.locator(".chart canvas").first() },
  { name: "slots", path: "#/slots", ready: slotRows, widths: [2560] },
  { name: "slots of a product", path: "#/slots/CAD", ready: slotRows, hasOtherControls: false },
  { name: "release dialog", path: "#/slots", ready: slotRows, act: press(/^Release/) },
  { name: "slot details", path: "#/slots", ready: slotRows, act: press(/^Details/) },
  {
    name: "release all dialog",
    path: "#/slots/CAD",
    ready: slotRows,
    act: press(/^Release all of CAD/),
  },
  { name: "licenses", path: "#/licenses", ready: (page) => page.locator("main h3").first() },
  {
    name: "one license",
    path: "#/licenses",
    ready: (page) => page.locator("main h3").first(),
    async act(page) {
      const details = page.locator("main h3 a, main th a").first();
      await details.click();
      await page.locator(".one-license").waitFor();
    },
  },
  {
    name: "return dialog",
    path: "#/licenses",
    ready: (page) => page.locator("main h3").first(),
    async act(page) {
      await page.locator("main h3 a, main th a").first().click();
      await press("Return…")(page);
    },
  },
  { name: "request wizard", path: "#/licenses/request", ready: heading(/^Step \d/) },
  { name: "air-gap wizard", path: "#/licenses/air-gap", ready: heading(/^Step 1/) },
  { name: "audit log", path: "#/audit", ready: auditEntries },
  {
    name: "audit log, no match",
    path: "#/audit/text=nothing-has-this-text",
    ready: (page) => page.getByText("No event in the audit log matches"),
  },
  { name: "audit export dialog", path: "#/audit", ready: auditEntries, act: press(/^Export/) },
  { name: "health", path: "#/health", ready: heading("Health") },
  ...Object.keys(settings.sections).map((section) => ({
    name: `settings, ${section}`,
    path: `#/settings/${section}`,
    ready: (page: Page) => page.locator(".settings h3").first(),
  })),
  {
    name: "token dialog",
    path: "#/settings/access",
    ready: (page) => page.locator(".settings h3").first(),
    act: press("Create a token"),
  },
  {
    name: "user dialog",
    path: "#/settings/access",
    ready: (page) => page.locator(".settings h3").first(),
    act: press("Add a user"),
  },
  {
    name: "backup schedule dialog",
    path: "#/settings/backups",
    ready: (page) => page.locator(".settings h3").first(),
    act: press(/^Change/),
  },
  {
    name: "backup dialog",
    path: "#/settings/backups",
    ready: (page) => page.locator(".settings h3").first(),
    act: press("Save a backup"),
  },
  { name: "API introduction", path: "/api/v4/docs", ready: heading("How to call") },
  { name: "API operation", path: "/api/v4/docs#post-api-v4-register", ready: heading("Try it") },
];
