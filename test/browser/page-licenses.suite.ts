// The Licenses page: from an empty data folder to a registered user by file, a renewal, every
// refusal of a vendor's file, and the return of a license.
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { splitIntoFrames } from "../../src/license/qr/qr.ts";
import { makeTempFolder } from "../support/suite-harness.ts";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import {
  createToken,
  HOSTILE,
  openSignedIn,
  OperatorPage,
  serveSite,
  type ServedSite,
} from "./operator-page.ts";
import {
  confirmInstall,
  createVendorDesk,
  dropFile,
  tryRegister,
  type VendorDesk,
} from "./vendor-desk.ts";

/** Slots must not end during this suite, even on a busy machine. */
const TIMEOUT_MINUTES = 600;
const LONG_TIMEOUT = ["--timeout-minutes", String(TIMEOUT_MINUTES)];

let root: string;
let desk: VendorDesk;

beforeAll(() => {
  root = makeTempFolder();
  desk = createVendorDesk(join(root, "desk"), "Acme & <b>Sons</b>", "CAD", HOSTILE);
});

test("an empty site gets its first license through the request wizard, and a user can register", async () => {
  const site = await serveSite();
  const opened = await OperatorPage.open(`${site.url}#/licenses`);
  const { page } = opened;
  await opened.createToken();
  await page.getByText("No license is installed yet.").waitFor();
  await opened.checkAccessibility("licenses page without a license");
  await opened.saveScreenshot("licenses-none");

  await page.getByRole("link", { name: "Request a license" }).click();
  await page.getByRole("heading", { name: "Step 1 of 5: Vendor" }).waitFor();
  // Not while no vendor is trusted.
  expect(await page.getByRole("button", { name: "Continue" }).isDisabled()).toBe(true);
  await opened.checkAccessibility("request wizard, no vendor");
  await dropFile(page, desk.trust, "trust.jwt");
  await page.getByRole("group", { name: "Trust this vendor?" }).waitFor();
  expect(await page.locator(".fingerprint").textContent()).toBe(desk.fingerprint);
  // Not before the operator confirms it.
  expect(BERTH_COMMANDS.run("trust", "list", "--data", site.folder)).toContain(
    "no vendor is trusted",
  );
  await opened.checkAccessibility("request wizard, fingerprint of a vendor");
  await opened.saveScreenshot("request-1-vendor");
  await page.getByRole("button", { name: /trust this vendor/ }).click();
  await page.getByText("Trusted vendors").waitFor();
  await page.getByRole("button", { name: "Continue" }).click();

  await page.getByRole("heading", { name: "Step 2 of 5: Product" }).waitFor();
  // As text.
  await page.getByText(HOSTILE).waitFor();
  await page.getByRole("button", { name: "CAD", exact: true }).click();
  await opened.checkAccessibility("request wizard, product");
  await opened.saveScreenshot("request-2-product");
  await page.getByRole("button", { name: "Create the request" }).click();

  const request = await saveFile(page, join(root, "first-request.jwt"));
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText("berth vendor issue").waitFor();
  await opened.checkAccessibility("request wizard, send");
  await opened.saveScreenshot("request-4-send");

  const answer = desk.issue(request, "--slots", "3", "--borrow-hours", "48", ...LONG_TIMEOUT);
  await page.getByRole("button", { name: "Install the license" }).click();
  await dropFile(page, answer, "license.jwt");
  await page.getByRole("heading", { name: "License installed" }).waitFor();
  await page.getByText("CAD is installed").waitFor();
  await page.locator(".step li").filter({ hasText: "no expiry" }).waitFor();
  expect(await page.locator(".steps .done").count()).toBe(5);
  await opened.checkAccessibility("request wizard, license installed");
  await opened.saveScreenshot("request-5-answer");
  expect(await tryRegister(site.url, "ada", "CAD")).toBe(true);
  await page.getByRole("link", { name: "Done" }).click();
  await page.getByRole("heading", { name: "Licenses" }).waitFor();
  await site.stop();
});

describe("with a license of a trusted vendor installed", () => {
  let site: ServedSite;
  let token: string;
  /** The license of CAD, which has 3 slots; one of them is in use. */
  let license: string;

  /** Requests a license, lets the vendor issue it, and returns it. */
  const issue = (product: string, ...terms: string[]): string =>
    desk.issue(requestLicense(site, "--product", product), ...terms);

  const open = (path = "#/licenses"): Promise<OperatorPage> => openSignedIn(site, token, path);

  beforeEach(async () => {
    site = await serveSite();
    token = await createToken(site);
    const data = ["--data", site.folder];
    BERTH_COMMANDS.run("trust", "add", join(desk.folder, "trust.jwt"), ...data, "--yes");
    license = issue("CAD", "--slots", "3", "--borrow-hours", "48", ...LONG_TIMEOUT);
    await upload(site, license);
    await tryRegister(site.url, "ada", "CAD");
  });

  afterEach(() => site.stop());

  test("the QR codes of a license request play in a loop until Previous stops it", async () => {
    const opened = await open("#/licenses/request/CAD");
    const { page } = opened;
    await page.getByRole("button", { name: "Create the request" }).click();
    await page.getByRole("heading", { name: "Step 3 of 5: Request" }).waitFor();
    await page.getByRole("button", { name: "Show as QR code" }).click();
    await page.getByText("frame 1 of").waitFor();
    await opened.checkLayouts("request-3-request");
    await page.getByText("frame 2 of 2").waitFor();
    await page.getByText("frame 1 of 2").waitFor();
    // Which frame this shows depends on when the button is pressed.
    await page.getByRole("button", { name: "Previous" }).click();
    await page.getByRole("button", { name: "Play" }).waitFor();
    const caption = page.getByText(/^frame \d of 2/);
    const [currentFrame, otherFrame] =
      (await caption.textContent()) === "frame 1 of 2"
        ? ["frame 1 of 2", "frame 2 of 2"]
        : ["frame 2 of 2", "frame 1 of 2"];
    await Bun.sleep(3_500);
    expect(await caption.textContent()).toBe(currentFrame);
    await page.getByRole("button", { name: "Previous" }).click();
    await page.getByText(otherFrame).waitFor();
  });

  test("a license of an untrusted vendor asks for the vendor's file, and a second vendor of a product is refused", async () => {
    const otherDesk = createVendorDesk(join(makeTempFolder(), "other"), "Untrusted", "CAD");
    const opened = await open();
    const { page } = opened;
    const request = requestLicense(site, "--product", "CAD");
    await dropFile(page, otherDesk.issue(request, "--new", "--slots", "9"), "license.jwt");
    await confirmInstall(page);
    await page.getByText("no trusted vendor licenses this product with this root key").waitFor();
    await page.getByText("Drop the vendor’s trust file here").waitFor();
    await opened.checkAccessibility("licenses page, license of an untrusted vendor");
    await dropFile(page, otherDesk.trust, "trust.jwt");
    await page.getByRole("button", { name: /trust this vendor/ }).click();
    await page
      .getByRole("group", { name: "Trust this vendor?" })
      .getByRole("alert")
      .filter({ hasText: "already has one of these products" })
      .waitFor();
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
  });

  test("a license of an untrusted vendor is installed once the vendor is trusted, and its request is answered once", async () => {
    const newDesk = createVendorDesk(join(makeTempFolder(), "third"), "Third", "PLOT");
    const opened = await open();
    const { page } = opened;
    const request = requestLicense(site);
    const secondAnswer = desk.issue(request, "--product", "CAD", "--new", "--slots", "1");
    const firstAnswer = newDesk.issue(request, "--product", "PLOT", "--slots", "1");
    await dropFile(page, firstAnswer, "license.jwt");
    await confirmInstall(page);
    await page.getByText("the installation is retried automatically").waitFor();
    await dropFile(page, newDesk.trust, "trust.jwt");
    await page.getByRole("button", { name: /trust this vendor/ }).click();
    await page.getByText("PLOT is installed").waitFor();
    await dropFile(page, secondAnswer, "license.jwt");
    await confirmInstall(page);
    await page.getByText("Its request has already been answered by another license").waitFor();
    await opened.checkAccessibility("licenses page, a request answered twice");
  });

  test("a license with one changed character is refused as damaged", async () => {
    const { page } = await open();
    const flipped = license.replace(/.(?=.{20}$)/, (char) => (char === "A" ? "B" : "A"));
    await dropFile(page, flipped, "license.jwt");
    await confirmInstall(page);
    await page.getByText("Copy it again").waitFor();
  });

  test("installing the same license again says that it is already installed", async () => {
    const { page } = await open();
    await dropFile(page, license, "license.jwt");
    await confirmInstall(page);
    await page.getByText("CAD is already installed").waitFor();
  });

  test("a renewal chosen as a file shows what changed, keeps the slots, and the older license is refused", async () => {
    const renewalFile = join(root, "renewal.jwt");
    writeFileSync(renewalFile, issue("CAD", "--slots", "10", "--valid-until", "2031-12-31"));
    const opened = await open();
    const { page } = opened;
    await page.getByLabel("Choose a file: the vendor’s file").setInputFiles(renewalFile);
    const question = page.getByRole("dialog", { name: "Install the license for CAD?" });
    await question.getByText("3 → 10").waitFor();
    await opened.checkAccessibility("licenses page, a question before a license is installed");
    await question.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("1 of 3 slots in use").first().waitFor();
    await page.getByLabel("Choose a file: the vendor’s file").setInputFiles(renewalFile);
    await confirmInstall(page);
    await page.getByText("CAD is renewed").waitFor();
    const notice = await page.getByRole("status").filter({ hasText: "renewed" }).textContent();
    expect(notice).toContain("Slots: 3 → 10");
    expect(notice).toContain("Valid: no expiry → until 31 Dec 2031");
    await page.getByText("1 of 10 slots in use").first().waitFor();
    await opened.checkAccessibility("licenses page after a renewal");
    await dropFile(page, license, "license.jwt");
    await confirmInstall(page);
    await page.getByText("install the newest").waitFor();
  });

  test("a license for another machine is refused with that reason, and a request is recognized", async () => {
    const { page } = await open();
    const otherSite = await serveSite();
    const otherRequest = requestLicense(otherSite, "--product", "CAD");
    await otherSite.stop();
    await dropFile(page, desk.issue(otherRequest, "--slots", "1"), "license.jwt");
    await confirmInstall(page);
    await page.getByText("It was issued for another machine, or for other hosts").waitFor();
    await dropFile(page, readFileSync(otherRequest, "utf8"), "request.jwt");
    await page.getByText("This is a license request").waitFor();
  });

  test("a license pasted as QR codes in any order is installed, and its page shows HTML names as text", async () => {
    const opened = await open();
    const { page } = opened;
    await page.getByText("Or paste its text").click();
    const frames = splitIntoFrames(issue(HOSTILE, "--terms", writeHostileTerms()));
    expect(frames.length).toBeGreaterThan(1);
    await page.getByLabel("Text of the vendor’s file").fill(frames.toReversed().join("\n"));
    await page.getByRole("button", { name: "Use this text" }).click();
    await confirmInstall(page);
    await page.getByText("<i>Mesh</i> Pro is installed").waitFor();
    await useHostileProduct(site);
    await page.getByText("95 of 100 consumed").first().waitFor();
    // What the header bar covers has no target that can be touched.
    await page.evaluate("scrollTo(0, 0)");
    await opened.checkLayouts("licenses");
    await page.getByRole("link", { name: "<i>Mesh</i> Pro" }).first().click();
    await page.getByRole("heading", { name: "<i>Mesh</i> Pro" }).waitFor();
    await page.getByText("<script>alert(1)</script>").waitFor();
    // Of the floating feature.
    expect(await page.locator(".features .slot-bar").count()).toBe(1);
    await page.getByText("installed:").first().waitFor();
    await opened.checkLayouts("license");
  });

  test("a license opens at the top of its page, however far the list was scrolled", async () => {
    await upload(site, issue(HOSTILE, "--terms", writeHostileTerms()));
    const opened = await open();
    const { page } = opened;
    await page.setViewportSize({ width: 1280, height: 300 });
    await page.getByRole("link", { name: "<i>Mesh</i> Pro" }).first().click();
    await page.getByText("Vendor and hardware").waitFor();
    await opened.expectEventually("scrollY", 0);
  });

  test("returning a license needs a confirmation, and gives a receipt that the vendor's desk accepts", async () => {
    await upload(site, issue(HOSTILE, "--terms", writeHostileTerms()));
    await useHostileProduct(site);
    const opened = await open();
    const { page } = opened;
    await page.getByRole("link", { name: "<i>Mesh</i> Pro" }).first().click();
    await page.getByRole("button", { name: "Return…" }).click();
    await page.getByText("This is permanent").waitFor();
    await page.getByText("2 slots are in use").waitFor();
    await opened.checkAccessibility("licenses page, the return dialog");
    await opened.saveScreenshot("return-license");
    await page.getByRole("button", { name: "Cancel" }).click();
    expect(listLicenses(site)).toHaveLength(2);
    await page.getByRole("button", { name: "Return…" }).click();
    await page.getByRole("button", { name: "Return the license permanently" }).click();
    await page.getByText("was returned").waitFor();
    await opened.checkAccessibility("licenses page, the receipt of a return");
    await opened.saveScreenshot("receipt");
    const receipt = await saveFile(page, join(root, "receipt.jwt"));
    const received = BERTH_COMMANDS.run("vendor", "receive", receipt, "--dir", desk.folder);
    expect(received).toContain("is recorded as returned");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Show the receipt" }).click();
    await page.getByRole("button", { name: "I have the receipt" }).click();
    await page.getByText("This license is not installed").waitFor();
  });

  test("with cloud keys set, a license request is also shown in the form of the licensing cloud", async () => {
    await callSocket(site, "/api/v4/setKeys?apiKey=a&sharedKey=s");
    const opened = await open("#/licenses/request/CAD");
    const { page } = opened;
    await page.getByText("A license for CAD is installed: the answer renews it").waitFor();
    await page.getByLabel("License key (optional)").fill("K-9");
    await page.getByRole("button", { name: "Create the request" }).click();
    await page.getByText("For a licensing cloud").waitFor();
    await opened.checkAccessibility("request wizard, request for a licensing cloud");
  });
});

/** Creates a request of the site, and returns its file. */
function requestLicense(site: ServedSite, ...flags: string[]): string {
  const out = join(root, "request.jwt");
  BERTH_COMMANDS.run("license", "request", "--data", site.folder, ...flags, "--out", out);
  return out;
}

/** Calls through the Unix socket, as an operator on the machine. */
async function callSocket(site: ServedSite, path: string, body?: object): Promise<void> {
  const answer = await fetch(`http://berth${path}`, {
    unix: join(site.folder, "berth.sock"),
    ...(body !== undefined && { method: "POST", body: JSON.stringify(body), headers: JSON_TYPE }),
  });
  if (!answer.ok) throw new Error(await answer.text());
}

const JSON_TYPE = { "content-type": "application/json" };

const upload = (site: ServedSite, license: string): Promise<void> =>
  callSocket(site, "/api/v4/license/upload", { license });

function listLicenses(site: ServedSite): unknown[] {
  const output = BERTH_COMMANDS.run("license", "list", "--data", site.folder, "--json");
  return JSON.parse(output) as unknown[];
}

/** Saves the document that the page offers. */
async function saveFile(page: Page, path: string): Promise<string> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Save as file" }).click(),
  ]);
  await download.saveAs(path);
  return path;
}

/** Two users register, and most of the consumption is used. */
async function useHostileProduct(site: ServedSite): Promise<void> {
  for (const [user, count] of [
    ["ada", 40],
    ["<svg onload=alert(1)>", 55],
  ] as const) {
    await tryRegister(site.url, user, HOSTILE);
    await callSocket(site, "/api/v4/add_consumption", {
      product: HOSTILE,
      consumptions: String(count),
    });
  }
}

/** Hostile names, and everything that terms can contain. */
function writeHostileTerms(): string {
  const path = join(root, "terms.json");
  writeFileSync(path, JSON.stringify(HOSTILE_TERMS));
  return path;
}

const HOSTILE_TERMS = {
  product_name: "<i>Mesh</i> Pro",
  customer: "<script>alert(1)</script>",
  metadata: "order 4711 <u>urgent</u>",
  slots: 60,
  timeout_minutes: TIMEOUT_MINUTES,
  valid_until: "2031-05-01T00:00:00.000Z",
  grace_hours: 72,
  consumption: { max: 100, overages: 10, negative: false, period: "monthly" },
  features: [
    {
      code: "view",
      name: "<u>View</u>",
      metadata: null,
      expires: null,
      floating: { slots: 4, timeout_minutes: 5 },
      consumption: null,
    },
    {
      code: "plot",
      name: "plot",
      metadata: null,
      expires: null,
      floating: null,
      consumption: { max: 50, overages: 0, negative: false, period: null },
    },
  ],
};
