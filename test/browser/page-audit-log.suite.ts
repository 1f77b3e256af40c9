// The Audit log page: paging, live events, filters, verification and export.
import { beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { makeTempFolder } from "../support/suite-harness.ts";
import { runBinary } from "../support/binary.ts";
import { callApi, startLicensedSite } from "./licensed-site.ts";
import {
  createToken,
  expectEventually,
  HOSTILE,
  openSignedIn,
  serveSite,
  type OperatorPage,
  type ServedSite,
} from "./operator-page.ts";

const LOAD_OLDER = { name: "Load older events" };

let site: ServedSite;
let token: string;

/** Of the three slots two stay in use: one by a user whose name is HTML, one by "one". */
beforeAll(async () => {
  site = await startLicensedSite({ [HOSTILE]: ["--slots", "3"] });
  token = await createToken(site);
  for (const user of [HOSTILE, "one"]) await send("register", user);
  await causeThreeRefusals();
  for (let number = 1; number <= 60; number += 1) {
    await send("register", `worker-${number}`);
    await send("unregister", `worker-${number}`);
  }
});

test("the audit log shows the newest 50 events at first", async () => {
  const { opened, events } = await openAuditLog();
  expect(await events.count()).toBe(50);
  expect(await events.first().textContent()).toContain("worker-60");
  await opened.checkLayouts("audit-log");
});

test("older events of the audit log are added below without moving the others, down to the first", async () => {
  const { opened, page, events } = await openAuditLog();
  const lastEvent = events.nth(49);
  await page.getByRole("button", LOAD_OLDER).scrollIntoViewIfNeeded();
  const top = await topOf(lastEvent);
  await page.getByRole("button", LOAD_OLDER).click();
  await events.nth(99).waitFor();
  expect(await topOf(lastEvent)).toBe(top);
  await page.getByRole("button", LOAD_OLDER).click();
  await page.getByText("Start of the audit log.").waitFor();
  expect(await events.count()).toBeGreaterThan(120);
  // HTML names are shown as text.
  expect(await events.filter({ hasText: HOSTILE }).count()).toBeGreaterThan(0);
  await opened.saveScreenshot("audit-log-beginning");
});

test("a new event moves nothing while the audit log is scrolled down, and appears at its top", async () => {
  const { page, events } = await openAuditLog();
  await page.getByRole("button", LOAD_OLDER).click();
  await events.nth(99).waitFor();
  const summaryText = (await events.nth(90).locator("summary").textContent()) ?? "";
  const oldEvent = page.locator("summary", { hasText: summaryText }).first();
  await oldEvent.scrollIntoViewIfNeeded();
  const top = await topOf(oldEvent);
  await send("register", "late-comer");
  await page.getByRole("button", { name: "1 new event" }).waitFor();
  expect(await topOf(oldEvent)).toBe(top);
  await page.getByRole("button", { name: "1 new event" }).click();
  await events.first().filter({ hasText: "late-comer" }).waitFor();
  await page.evaluate("scrollTo(0, 0)");
  await send("unregister", "late-comer");
  await events.first().filter({ hasText: "slot released" }).waitFor();
});

test("refusals of one kind are one event with their count, reason and users", async () => {
  const { opened, page, events } = await openAuditLog();
  await page.getByLabel("Kind").selectOption("Refusals");
  const refusal = events.filter({ hasText: "3 requests refused" }).first();
  const text = await refusal.textContent();
  expect(text).toContain("refused: no free slot");
  await opened.checkLayouts("audit-log-refusals");
  await refusal.getByRole("link", { name: "three", exact: true }).click();
  await page.getByText("User: three").waitFor();
});

test("searching the audit log ignores case, and its address shows the same events in another tab", async () => {
  const { opened, page, events } = await openAuditLog();
  await page.getByLabel("Search").fill("WORKER-7");
  await page.waitForURL(/text=WORKER-7/);
  await expectEventually(() => events.count(), 2);
  const other = await openAuditLog(new URL(page.url()).hash);
  await expectEventually(() => other.events.count(), 2);
  expect(await other.page.getByLabel("Search").inputValue()).toBe("WORKER-7");
  await page.getByLabel("Search").fill("nobody at all");
  await page.getByText("No event in the audit log matches.").waitFor();
  await opened.checkLayouts("audit-log-no-results");
  await clearFilters(page);
  await expectEventually(() => events.count(), 50);
});

test("a key pressed while the search of the audit log is applied stays in the field", async () => {
  const { page } = await openAuditLog();
  // The address has changed, and the page has not shown it yet: the moment in which keys got lost.
  await page.evaluate(`addEventListener("hashchange", () => {
    const field = document.querySelector("input[type=search]");
    field.value += "7";
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
  }, { once: true })`);
  await page.getByLabel("Search").fill("worker-");
  await page.waitForURL(/text=worker-7$/);
  expect(await page.getByLabel("Search").inputValue()).toBe("worker-7");
});

test("a search of the audit log that ends with its period offers no older events", async () => {
  const today = new Date().toLocaleDateString("sv");
  const { page } = await openAuditLog(`#/audit/user=worker-3/from=${today}`);
  await page.getByText(/Start of the audit log|No older events in the chosen period/).waitFor();
  expect(await page.getByRole("button", LOAD_OLDER).count()).toBe(0);
});

test("the events that the filter of the audit log selects are saved as CSV", async () => {
  const { page, events } = await openAuditLog("#/audit/user=worker-3");
  await expectEventually(() => events.count(), 2);
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save matches as CSV" }).click();
  const file = join(makeTempFolder(), "audit.csv");
  await (await download).saveAs(file);
  const [header, ...records] = readFileSync(file, "utf8").trimEnd().split("\r\n");
  expect(header).toStartWith("seq,");
  expect(records.map((record) => record.split(",")[3])).toEqual(["SlotReleased", "SlotTaken"]);
});

test("the first and the last day of the filter are part of the address of the audit log", async () => {
  const { page, events } = await openAuditLog();
  await waitForQuery(page, /product=/, () => page.getByLabel("Product").selectOption(HOSTILE));
  await waitForQuery(page, /since=/, () => page.getByLabel("From").fill("2020-01-01"));
  await page.getByLabel("To", { exact: true }).fill("2020-12-31");
  await page.getByText("No event in the audit log matches.").waitFor();
  expect(new URL(page.url()).hash).toEndWith("/from=2020-01-01/to=2020-12-31");
  await clearFilters(page);
  await events.filter({ hasText: HOSTILE }).first().waitFor();
});

test("a click on a user name shows the events of that user only, with their details", async () => {
  const { opened, page, events } = await openAuditLog();
  await page.getByRole("button", LOAD_OLDER).click();
  await events.nth(99).waitFor();
  await page.getByRole("button", LOAD_OLDER).click();
  await page.getByRole("link", { name: "one", exact: true }).first().click();
  await page.getByText("User: one").waitFor();
  await expectEventually(() => events.count(), 1);
  await events.first().locator("summary").click();
  await page.getByText("os_hostname").waitFor();
  await opened.checkLayouts("audit-log-detail");
});

test("an audit log that was not verified is not called intact before it is verified", async () => {
  const { opened, page } = await openAuditLog();
  await page.getByText("Not verified yet.").waitFor();
  expect(await page.getByText("The audit log is intact.").count()).toBe(0);
  await page.getByRole("button", { name: "Verify the audit log" }).click();
  await page.getByText("The audit log is intact.").waitFor();
  await opened.checkLayouts("audit-log-intact");
});

test("berth audit verify accepts the audit log exported by the page, and refuses an altered one", async () => {
  const { opened, page } = await openAuditLog();
  const root = makeTempFolder();
  await page.getByRole("button", { name: "Export" }).click();
  await opened.checkLayouts("audit-log-export");
  const exportFile = join(root, "audit-log.jsonl");
  await saveExport(page, exportFile);
  const { code, stderr } = await runBinary(["audit", "verify", exportFile]);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const altered = join(root, "altered.jsonl");
  writeFileSync(altered, readFileSync(exportFile, "utf8").replace("worker-7", "worker-8"));
  expect((await runBinary(["audit", "verify", altered])).code).not.toBe(0);
});

test("the export of the only month is the same as the export of the whole audit log", async () => {
  const { page } = await openAuditLog();
  const root = makeTempFolder();
  await page.getByRole("button", { name: "Export" }).click();
  const [exportFile, monthFile] = [join(root, "audit-log.jsonl"), join(root, "month.jsonl")];
  await saveExport(page, exportFile);
  const month = new Date().toISOString().slice(0, 7);
  await page.getByLabel("From the beginning of").selectOption(month);
  await page.getByLabel("To the end of").selectOption(month);
  await saveExport(page, monthFile);
  expect(readFileSync(monthFile, "utf8")).toBe(readFileSync(exportFile, "utf8"));
});

test("verifying a damaged audit log names the damaged file", async () => {
  const { opened, page } = await openAuditLog();
  const journal = readdirSync(site.folder).find((name) => name.startsWith("journal-")) ?? "";
  const path = join(site.folder, journal);
  const intactText = readFileSync(path, "utf8");
  try {
    writeFileSync(path, intactText.replace("worker-7", "worker-8"));
    await page.getByRole("button", { name: /^Verify/ }).click();
    await page.getByText("The audit log is damaged.").waitFor();
    await page.getByText(journal).first().waitFor();
    await opened.checkLayouts("audit-log-damaged");
  } finally {
    writeFileSync(path, intactText);
  }
});

interface OpenAuditLog {
  readonly opened: OperatorPage;
  readonly page: Page;
  readonly events: Locator;
}

async function openAuditLog(path = "#/audit"): Promise<OpenAuditLog> {
  const opened = await openSignedIn(site, token, path);
  const events = opened.page.locator(".event");
  await events.first().waitFor();
  return { opened, page: opened.page, events };
}

const topOf = async (element: Locator): Promise<number> =>
  (await element.boundingBox())?.y ?? Number.NaN;

const send = (operation: string, user: string): Promise<Response> =>
  callApi(site, operation, { user, os_hostname: HOSTILE, user_info: HOSTILE });

/** Clears the filters, and waits until the fields are empty: a stale field would set them again. */
async function clearFilters(page: Page): Promise<void> {
  const link = page.getByRole("link", { name: "Clear filters" });
  await link.click();
  await link.waitFor({ state: "detached" });
  await expectEventually(() => page.getByLabel("Search").inputValue(), "");
}

/** Acts, and waits until the page has sent a request whose URL matches. */
async function waitForQuery(page: Page, query: RegExp, act: () => Promise<unknown>): Promise<void> {
  const request = page.waitForRequest(query);
  await act();
  await request;
}

/**
 * Causes three refusals that are one line. The server writes their count every minute and when it
 * stops. Repeats if the minute ended between them.
 */
async function causeThreeRefusals(): Promise<void> {
  do {
    await send("register", "last-slot");
    for (const user of ["two", "three", HOSTILE.replace("x", "y")]) await send("register", user);
    await send("unregister", "last-slot");
    await site.stop();
    site = await serveSite(site.folder);
  } while ((await readRefusalCounts())[0] !== 3);
}

/** The counts of the refusal lines, the newest first. */
async function readRefusalCounts(): Promise<number[]> {
  const answer = await fetch(`${site.url}api/admin/v1/audit?type=RefusalsCounted`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { events } = (await answer.json()) as {
    readonly events: readonly { readonly detail: { readonly count: number } }[];
  };
  return events.map(({ detail }) => detail.count);
}

async function saveExport(page: Page, path: string): Promise<void> {
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save the audit log" }).click();
  await (await download).saveAs(path);
}
