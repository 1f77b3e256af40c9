// The Health page: findings by severity, what can be done about them, and the full check.
import { beforeAll, expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { makeTempFolder } from "../support/suite-harness.ts";
import type { StatusReply } from "../../src/http/routes/health/status-schema.ts";
import { callApi, startLicensedSite, type Licensed } from "./licensed-site.ts";
import {
  createToken,
  expectEventually,
  HOSTILE,
  openSignedIn,
  OperatorPage,
  serveSite,
} from "./operator-page.ts";

let site: Licensed;
let token: string;

/** One license is full, one expires soon; the folder can be read by others. */
beforeAll(async () => {
  const soon = new Date(Date.now() + 11 * 24 * 60 * 60 * 1_000).toISOString().slice(0, 10);
  site = await startLicensedSite({
    CAD: ["--slots", "10", "--valid-until", soon],
    [HOSTILE]: ["--slots", "1"],
  });
  token = await createToken(site);
  await callApi(site, "register", { product: HOSTILE, user: "ada" });
  chmodSync(site.folder, 0o755);
});

const readStatus = async (): Promise<StatusReply> => {
  const answer = await fetch("http://berth/api/admin/v1/status", {
    unix: join(site.folder, "berth.sock"),
  });
  return (await answer.json()) as StatusReply;
};

test("health lists findings by severity with a remedy, a link and a working command", async () => {
  const opened = await openSignedIn(site, token, "#/health");
  const { page } = opened;
  const warnings = page.getByRole("region", { name: "Warnings" });
  await warnings.getByText(/CAD expires in 1[0-2] days/).waitFor();
  await warnings.getByText(/license request --product CAD --data /).waitFor();
  const notes = page.getByRole("region", { name: "Notes" });
  await notes.getByText(`${HOSTILE}: the only slot is in use`).waitFor();
  await notes.getByRole("link", { name: "View users" }).click();
  await page.getByRole("heading", { name: "Slots" }).waitFor();
  await page.getByText("ada").first().waitFor();
});

test("the page shows as many errors and warnings as the server reports, in navigation and title", async () => {
  const opened = await openSignedIn(site, token, "#/health");
  const { page } = opened;
  const { findings } = await readStatus();
  const count = findings.filter(({ severity }) => severity !== "note").length;
  expect(count).toBeGreaterThan(0);
  await expectEventually(() => page.locator("nav .badge [aria-hidden]").textContent(), `${count}`);
  await expectEventually(async () => (await page.title()).startsWith(`(${count})`), true);
  expect(await page.locator(".finding-list > li").count()).toBe(findings.length);
});

test("a full check on the page finds what only berth doctor finds, and shows its time", async () => {
  const opened = await openSignedIn(site, token, "#/health");
  const { page } = opened;
  await page.getByText("No full check since the server started").waitFor();
  await page.getByRole("button", { name: "Run all checks now" }).click();
  await page.getByText("Last full check:").waitFor();
  await page.getByText(`Other users can read ${site.folder}`).waitFor();
  await page.getByText(`chmod 700 ${site.folder}`).waitFor();
  await page.getByText(/^\d+ checks passed$/).click();
  await page.getByText("The data is intact").waitFor();
  await page.getByText("Slowest sync of the last minutes").waitFor();
  await opened.checkLayouts("health");
});

test("the link of a finding leads to the setting that mends it", async () => {
  const { page } = await openSignedIn(site, token, "#/health");
  const item = page.getByRole("listitem").filter({ hasText: "call without a login" });
  await item.getByRole("link", { name: "Open Network" }).click();
  await page.getByRole("heading", { name: "Networks for applications" }).waitFor();
});

test("a new server offers the admin token as a finding, and in one line on other views", async () => {
  const fresh = await serveSite(join(makeTempFolder(), "site"));
  const opened = await OperatorPage.open(fresh.url);
  const { page } = opened;
  await page.getByText("Administration is open to everybody on this machine, tunnels").waitFor();
  expect(await page.getByText("Nothing needs attention.").count()).toBe(0);
  await opened.checkLayouts("overview-unclaimed");
  await page.getByRole("link", { name: "Slots" }).click();
  const line = page.locator(".unclaimed");
  await line.waitFor();
  expect((await line.boundingBox())?.height).toBeLessThan(70);
  await opened.createToken();
  await line.waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByText("Nothing needs attention.").waitFor();
});
