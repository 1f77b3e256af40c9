// Every screen of the operator's page, and the dialogs and steps that follow from it.
import type { Locator, Page } from "playwright-core";
import { settings } from "../../src/web/settings/settings-texts.ts";
import {
  button,
  dialog,
  DROP_STATES,
  heading,
  menu,
  PHONE_STEPS,
  REPORT_STATES,
  REQUEST_STEPS,
  RULES_STATES,
  SECTION_STATES,
  type State,
} from "./layout-states.ts";

export interface Screen {
  readonly name: string;
  /** A path with its slash, or `#/VIEW`. */
  readonly path: string;
  /** Is there when the screen has loaded what it shows. */
  readonly ready: (page: Page) => Locator;
  /** False: the screen is shown to a visitor who has not signed in. */
  readonly isSignedIn?: boolean;
  /** False: another screen has the same controls, so Tab is not tried again. */
  readonly hasOtherControls?: boolean;
  /** True: it is the same on every site. */
  readonly isSameEverywhere?: boolean;
  /** Widths beyond the usual ones. */
  readonly widths?: readonly number[];
  /** Opened in this order in the same page. */
  readonly states?: readonly State[];
}

const slotRows = (page: Page): Locator => page.locator(".slot-body .slot-row").first();
const auditEntries = (page: Page): Locator => page.locator(".event").first();
const settingsTitle = (page: Page): Locator => page.locator(".settings h3").first();

export const SCREENS: readonly Screen[] = [
  {
    name: "overview",
    path: "#/overview",
    ready: (page) => page.locator(".sparkline").first(),
    states: [...DROP_STATES, menu],
  },
  {
    name: "slots",
    path: "#/slots",
    ready: slotRows,
    widths: [2560],
    states: [
      dialog("details dialog", /^Details of/),
      dialog("release dialog", /^Release .*slot of/),
      {
        name: "selection",
        async open(page) {
          const boxes = page.getByRole("checkbox", { name: /^Select .*slot of/ });
          await boxes.first().check();
          await boxes.nth(1).check();
        },
      },
      dialog("release of the selection", "Release 2…"),
    ],
  },
  {
    name: "slots of a product",
    path: "#/slots/CAD",
    ready: slotRows,
    hasOtherControls: false,
    states: [dialog("release-all dialog", /^Release all of/)],
  },
  {
    name: "queue",
    path: "#/queue",
    ready: (page) => page.locator(".product-queue").first(),
    states: [dialog("remove dialog", /^Remove .* from the queue/)],
  },
  {
    name: "queue of a product, empty",
    path: "#/queue/QUOTA",
    ready: heading("No user waits for a slot of QUOTA"),
    isSameEverywhere: true,
  },
  {
    name: "rules",
    path: "#/rules",
    ready: (page) => page.locator(".rules-findings li").first(),
    states: RULES_STATES,
  },
  {
    name: "request wizard",
    path: "#/licenses/request",
    ready: heading(/^Step \d/),
    states: REQUEST_STEPS,
  },
  {
    name: "activation by phone",
    path: "#/licenses/air-gap",
    ready: heading(/^Step 1/),
    states: PHONE_STEPS,
  },
  {
    name: "licenses",
    path: "#/licenses",
    ready: (page) => page.locator("main h3").first(),
    states: [
      dialog("request shown again", /^Show again/),
      dialog("cancel dialog", /^Cancel request/),
      {
        name: "one license",
        async open(page) {
          await page.locator("main h3 a, main th a").first().click();
          await page.locator(".one-license .history").waitFor();
        },
      },
      dialog("return dialog", "Return…"),
    ],
  },
  {
    name: "reports",
    path: "#/reports",
    ready: heading("Products and features"),
    states: REPORT_STATES,
  },
  {
    name: "report of a product",
    path: "#/reports/CAD",
    ready: (page) => page.locator(".chart canvas").first(),
  },
  {
    name: "audit log",
    path: "#/audit",
    ready: auditEntries,
    states: [dialog("export dialog", /^Export/)],
  },
  {
    name: "audit log, no match",
    path: "#/audit/text=nothing-has-this-text",
    ready: (page) => page.getByText("No event in the audit log matches"),
  },
  { name: "health", path: "#/health", ready: heading("Health") },
  ...Object.keys(settings.sections).map((section) => ({
    name: `settings, ${section}`,
    path: `#/settings/${section}`,
    ready: settingsTitle,
    states: SECTION_STATES[section] ?? [],
  })),
  {
    name: "API introduction",
    path: "/api/v4/docs",
    ready: heading("How to call"),
    isSameEverywhere: true,
  },
  {
    name: "API operation",
    path: "/api/v4/docs#post-api-v4-register",
    ready: heading("Try it"),
    isSameEverywhere: true,
  },
  {
    name: "sign-in",
    path: "#/overview",
    ready: heading("Sign in"),
    isSignedIn: false,
    isSameEverywhere: true,
    states: [
      {
        name: "refused token",
        async open(page) {
          await page.getByLabel("Administration token").fill("berth_wrong");
          await button(page, "Sign in").click();
          await page.getByText("This token is not valid.").waitFor();
        },
      },
      {
        name: "refused password",
        async open(page) {
          await page.getByLabel("Name").fill("operator");
          await page.getByLabel("Password", { exact: true }).fill("wrong password");
          await page.getByRole("button", { name: "Sign in" }).last().click();
          await page.getByRole("alert").nth(1).waitFor();
        },
      },
    ],
  },
];

/** A site without a license and without a credential; the last state creates the first token. */
export const NEW_SITE_SCREENS: readonly Screen[] = [
  { name: "slots", path: "#/slots", ready: heading("No slots in use"), isSignedIn: false },
  {
    name: "licenses",
    path: "#/licenses",
    ready: heading("No license is installed yet."),
    isSignedIn: false,
  },
  {
    name: "request wizard",
    path: "#/licenses/request",
    ready: heading(/^Step 1/),
    isSignedIn: false,
  },
  {
    name: "reports",
    path: "#/reports",
    ready: heading("Nothing to report yet"),
    isSignedIn: false,
  },
  { name: "queue", path: "#/queue", ready: heading(/^No user waits/), isSignedIn: false },
  {
    name: "rules",
    path: "#/rules",
    ready: (page) => page.getByText("There are no rules"),
    isSignedIn: false,
  },
  { name: "health", path: "#/health", ready: heading("Health"), isSignedIn: false },
  { name: "settings, access", path: "#/settings/access", ready: settingsTitle, isSignedIn: false },
  {
    name: "overview",
    path: "#/overview",
    ready: heading("No license yet"),
    isSignedIn: false,
    states: [dialog("first token", "Create the admin token")],
  },
];
