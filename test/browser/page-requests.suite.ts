// Requests and many licenses on the Licenses page, and files that are dropped on any view.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { DAY, later } from "../../src/domain/time.ts";
import { wallClock } from "../../src/platform/clock.ts";
import { openDeskAndSite } from "../support/desk-and-site.ts";
import { installLicense, makeStatement, receive } from "../support/reporting-site.ts";
import { makeTempFolder } from "../support/suite-harness.ts";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import { startLicensedSite, type Licensed, type LicenseFlags } from "./licensed-site.ts";
import {
  createToken,
  expectEventually,
  openSignedIn,
  OperatorPage,
  serveSite,
} from "./operator-page.ts";
import { confirmInstall, createVendorDesk, dropAnywhere, dropFile } from "./vendor-desk.ts";

const WEAK = ["--allow-weak-binding"];
const NO_END = ["--valid-until", "never"];
const auth = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

const SUITE_VIEWS = ["overview", "slots", "audit", "health", "settings"] as const;

describe("with one license", () => {
  let site: Licensed;
  let token: string;

  beforeEach(async () => {
    site = await startLicensedSite({
      CAD: ["--slots", "4", "--valid-until", "2031-12-31"],
      CAE: null,
    });
    token = await createToken(site);
  });

  afterEach(() => site.stop());

  const open = (path: string): Promise<OperatorPage> => openSignedIn(site, token, path);

  test("a renewal is filled in, and the request is still listed after the page is opened again", async () => {
    const opened = await open("#/licenses/request/CAD");
    const { page } = opened;
    await page.getByRole("button", { name: "Create the request" }).waitFor();
    expect(await page.getByLabel("Slots", { exact: true }).inputValue()).toBe("4");
    expect(await page.getByLabel("Until").inputValue()).toBe("2032-12-31");
    await page.getByLabel("Slots", { exact: true }).fill("6");
    await page.getByLabel("Note for the vendor").fill("two more\n<b>people</b>");
    await opened.checkAccessibility("request wizard, wishes");
    await page.getByRole("button", { name: "Create the request" }).click();
    const payload = await savedText(page);
    await page.getByRole("button", { name: "Continue" }).click();
    const command = page.locator(".command").filter({ hasText: "vendor issue" });
    expect(await command.textContent()).toContain("--slots 6 --valid-until 2032-12-31");

    const again = await open("#/licenses");
    const row = again.page.locator(".open-requests li");
    await row.filter({ hasText: "6 slots, until 31 Dec 2032, “two more <b>people</b>”" }).waitFor();
    await again.page.getByText("waiting for the vendor").first().waitFor();
    await again.checkLayouts("licenses-open-request");
    await row.getByRole("button", { name: "Show again the request for CAD" }).click();
    expect(await savedText(again.page)).toBe(payload);
    await again.page.getByRole("button", { name: "Show as QR code" }).click();
    await again.page.getByRole("img", { name: "QR code" }).waitFor();
    await again.checkAccessibility("licenses page, a request shown again");
  });

  test("a wish that the server refuses is explained beside its field, and no request is created", async () => {
    const opened = await open("#/licenses/request/CAD");
    const { page } = opened;
    await page.getByRole("button", { name: "Create the request" }).waitFor();
    await page.getByLabel("Until").fill("2020-12-31");
    await page.getByRole("button", { name: "Create the request" }).click();
    const fieldWith = (name: string) =>
      page.locator(".field").filter({ has: page.getByLabel(name) });
    const error = fieldWith("Until").getByRole("alert");
    await error.filter({ hasText: /^“Until” must be \d{4}-\d\d-\d\d or a later day$/ }).waitFor();
    expect(await page.evaluate("document.activeElement.type")).toBe("date");
    expect(await page.getByRole("alert").count()).toBe(1);
    await opened.checkAccessibility("request wizard, a refused wish");
    await page.getByLabel("Until").fill("2032-12-31");
    await expectEventually(() => error.count(), 0);
    await page.getByLabel("Note for the vendor").fill("a\u202eb");
    await page.getByRole("button", { name: "Create the request" }).click();
    await fieldWith("Note for the vendor").getByText("direction-changing characters").waitFor();
    expect(await (await fetch(`${site.url}api/admin/v1/requests`, auth(token))).json()).toEqual([]);
  });

  test("the answer for another product than the wizard asked for is shown before it is installed", async () => {
    const folder = makeTempFolder();
    const [request, answer] = [join(folder, "request.jwt"), join(folder, "license.jwt")];
    const data = ["--data", site.folder];
    BERTH_COMMANDS.run("license", "request", ...data, "--product", "CAE", "--out", request);
    const desk = ["--dir", join(site.folder, "..", "desk"), "--request", request];
    BERTH_COMMANDS.run(
      "vendor",
      "issue",
      ...desk,
      "--slots",
      "2",
      "--out",
      answer,
      ...WEAK,
      ...NO_END,
    );
    const { page } = await open("#/licenses/request/CAD");
    await page.getByRole("button", { name: "Create the request" }).click();
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("button", { name: "Install the license" }).click();
    await dropFile(page, readFileSync(answer, "utf8"), "license.jwt");
    await page.getByRole("dialog", { name: "Install the license for CAE?" }).waitFor();
    await confirmInstall(page);
    await page.getByText("CAE is installed").waitFor();
  });

  test("a license dropped on a view is installed once its vendor is trusted there", async () => {
    const folder = makeTempFolder();
    const [request, other] = [join(folder, "request.jwt"), join(folder, "other")];
    const desk = createVendorDesk(other, "Other", "PLOT");
    BERTH_COMMANDS.run("license", "request", "--data", site.folder, "--out", request);
    const opened = await open("#/slots");
    const { page } = opened;
    await opened.waitUntilSignedIn();
    await dropAnywhere(page, desk.issue(request, "--product", "PLOT"), "license.jwt");
    await confirmInstall(page);
    await page.getByText("the installation is retried automatically").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
    await dropAnywhere(page, desk.trust, "trust.jwt");
    await page.getByRole("button", { name: /trust this vendor/ }).click();
    await page.getByText("PLOT is installed").waitFor();
  });

  test("a cancelled request leaves the list after a confirmation, and its answer is refused", async () => {
    const folder = makeTempFolder();
    const request = join(folder, "request.jwt");
    const data = ["--data", site.folder];
    BERTH_COMMANDS.run("license", "request", ...data, "--product", "CAE", "--out", request);
    const opened = await open("#/licenses");
    const { page } = opened;
    await page.getByRole("button", { name: "Cancel request for CAE" }).click();
    await page.getByRole("dialog").getByText("the answer will be refused").waitFor();
    await opened.checkAccessibility("licenses page, cancelling a request");
    await page.getByRole("dialog").getByRole("button", { name: "Cancel", exact: true }).click();
    expect(await page.locator(".open-requests li").count()).toBe(1);
    await page.getByRole("button", { name: "Cancel request for CAE" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel request" }).click();
    await expectEventually(() => page.locator(".open-requests li").count(), 0);
    const desk = join(site.folder, "..", "desk");
    const answer = join(folder, "license.jwt");
    BERTH_COMMANDS.run(
      "vendor",
      "issue",
      "--dir",
      desk,
      "--request",
      request,
      "--slots",
      "1",
      "--valid-until",
      "never",
      "--allow-weak-binding",
      "--out",
      answer,
    );
    await dropFile(page, readFileSync(answer, "utf8"), "license.jwt");
    await confirmInstall(page);
    await page.getByText("was cancelled here").waitFor();
  });

  test("a license dropped on any view is installed after a confirmation that shows the difference", async () => {
    const folder = makeTempFolder();
    const [request, answer] = [join(folder, "request.jwt"), join(folder, "license.jwt")];
    const data = ["--data", site.folder];
    BERTH_COMMANDS.run("license", "request", ...data, "--product", "CAD", "--out", request);
    BERTH_COMMANDS.run(
      "vendor",
      "issue",
      "--dir",
      join(site.folder, "..", "desk"),
      "--request",
      request,
      "--slots",
      "9",
      "--allow-weak-binding",
      "--out",
      answer,
    );
    const license = readFileSync(answer, "utf8");
    const opened = await open("#/overview");
    const { page } = opened;
    await opened.waitUntilSignedIn();
    for (const view of SUITE_VIEWS) {
      await page.goto(`${site.url}#/${view}`);
      await dropAnywhere(page, license, "license.jwt");
      const dialog = page.getByRole("dialog", { name: "Install the license for CAD?" });
      await dialog.getByText("4 → 9").waitFor();
      if (view === "overview") await opened.checkAccessibility("a license dropped on a view");
      if (view === "settings") await dialog.getByRole("button", { name: "Install" }).click();
      else await dialog.getByRole("button", { name: "Cancel" }).click();
    }
    await page.getByText("CAD is renewed").waitFor();
    await page.getByText("Slots: 4 → 9").waitFor();
    await page.getByRole("link", { name: "View the license" }).click();
    await page.getByRole("list", { name: "What it changed" }).getByText("slots 4 → 9").waitFor();
    expect(page.context().pages()).toHaveLength(1);
  });

  test("every other kind of file that is dropped on a view is named, and nothing is opened", async () => {
    const opened = await open("#/slots");
    const { page } = opened;
    await opened.waitUntilSignedIn();
    const folder = makeTempFolder();
    const request = join(folder, "request.jwt");
    const data = ["--data", site.folder];
    BERTH_COMMANDS.run("license", "request", ...data, "--product", "CAD", "--out", request);
    const tar = `${"identity.jwk".padEnd(257, "\0")}ustar${"\0".repeat(300)}`;
    for (const [content, expected] of [
      [readFileSync(request, "utf8"), "This is a license request"],
      [tar, "This is a backup"],
      ['{"kty":"OKP","d":"x"}', "This is a private key"],
      ["\u0001\u0002", "This file was not recognized"],
      ["just a text", "Not accepted"],
    ] as const) {
      await dropAnywhere(page, content, "file");
      await page.getByRole("dialog").getByText(expected).waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
    }
    const other = createVendorDesk(join(folder, "other"), "Other", "PLOT");
    const trustRequests = "**/api/admin/v1/trust/show";
    await page.route(trustRequests, (route) => route.abort());
    await dropAnywhere(page, other.trust, "trust.jwt");
    await page.getByRole("dialog").getByRole("alert").waitFor();
    await page.unroute(trustRequests);
    await page.getByRole("dialog").getByRole("button", { name: "Try again" }).click();
    const prompt = page.getByRole("dialog").getByRole("group", { name: "Trust this vendor?" });
    expect(await prompt.locator(".fingerprint").textContent()).toBe(other.fingerprint);
    await opened.checkAccessibility("a trust file dropped on a view");
    expect(page.context().pages()).toHaveLength(1);
  });

  test("a file that is dropped before signing in is not read", async () => {
    const opened = await OperatorPage.open(site.url);
    const { page } = opened;
    await page.getByLabel("Administration token").waitFor();
    await dropAnywhere(page, "anything", "license.jwt");
    await page.getByRole("dialog").getByText("Sign in first").waitFor();
  });
});

test("a vendor's acknowledgement of a usage statement is installed when it is dropped on a view", async () => {
  const opened = await openDeskAndSite();
  opened.site.clock.now = later(wallClock(), -3 * DAY);
  await installLicense(opened, "sim");
  opened.site.clock.now = wallClock();
  const { document } = await makeStatement(opened.site);
  await opened.site.stop();
  const { acknowledgement } = await receive(opened.desk, document, null, wallClock());
  const site = await serveSite(opened.site.folder);
  const shown = await openSignedIn(site, await createToken(site), "#/slots");
  const { page } = shown;
  await shown.waitUntilSignedIn();
  for (const text of ["acknowledged usage statement 1.", "Nothing changed: usage statement 1"]) {
    await dropAnywhere(page, acknowledgement, "ack.jwt");
    await page.getByRole("dialog").getByText(text).waitFor();
    await shown.checkAccessibility("an acknowledgement dropped on a view");
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
  }
  const list = BERTH_COMMANDS.run("usage", "statements", "--data", site.folder);
  expect(list).toMatch(/\n1 +\S+ +\S+ +\S+ +yes/);
});

test("25 licenses are a table that sorts, filters by expiry and remembers the choice of cards", async () => {
  const names = Array.from({ length: 25 }, (_, index) => `P${String(index).padStart(2, "0")}`);
  const flags: LicenseFlags = Object.fromEntries(
    names.map((name, index) => [
      name,
      ["--slots", String(index + 1), ...(index < 20 ? ["--valid-until", endOf(index)] : [])],
    ]),
  );
  const site = await startLicensedSite(flags);
  const opened = await openSignedIn(site, await createToken(site), "#/licenses");
  const { page } = opened;
  await page.locator(".license-table tbody tr").nth(24).waitFor();
  await opened.checkLayouts("licenses-table");
  expect(await firstProduct(page)).toBe("P00");
  await page.getByRole("button", { name: "Slots", exact: true }).click();
  await page
    .getByRole("button", { name: /^Slots/ })
    .first()
    .click();
  expect(await firstProduct(page)).toBe("P24");
  await page.getByRole("button", { name: "30 days" }).click();
  await page.getByText("3 of 25 licenses").waitFor();
  await page.getByLabel("Expires within (days)").fill("20");
  await page.getByText("2 of 25 licenses").waitFor();
  await page.getByRole("button", { name: "Cards" }).click();
  expect(await page.locator("article.license").count()).toBe(2);
  await page.reload();
  await openedAgain(opened, site, page);
  await page.locator("article.license").nth(24).waitFor();
  await site.stop();
});

/** The license of an index ends 10 days later than the one before; the first in 10 days. */
const endOf = (index: number): string =>
  new Date(Date.now() + (index + 1) * 10 * 86_400_000 - 86_400_000).toISOString().slice(0, 10);

const firstProduct = (page: Page): Promise<string | null> =>
  page.locator(".license-table tbody tr th a").first().textContent();

/** Signs in again where a reload signs out. */
async function openedAgain(opened: OperatorPage, site: Licensed, page: Page): Promise<void> {
  const field = page.getByLabel("Administration token");
  await page.locator("article.license").or(field).first().waitFor();
  if (await field.isVisible()) await opened.signIn(await createToken(site));
}

/** The document that the page offers to save. */
async function savedText(page: Page): Promise<string> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Save as file" }).click(),
  ]);
  const path = join(makeTempFolder(), "saved");
  await download.saveAs(path);
  return readFileSync(path, "utf8");
}
