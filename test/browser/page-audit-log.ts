// The Audit log page: paging, live events, filters, verification and export.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, finish, makeTempFolder } from "../support/suite-harness.ts";
import { runBinary } from "../support/binary.ts";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import { isEventuallyTrue, HOSTILE, isShown, OperatorPage, serveSite } from "./operator-page.ts";

const root = makeTempFolder();
const desk = join(root, "desk");
const [request, license] = [join(root, "request.jwt"), join(root, "license.jwt")];
BERTH_COMMANDS.run(
  "vendor",
  "init",
  "--no-passphrase",
  "--name",
  "Acme",
  "--dir",
  desk,
  "--product",
  HOSTILE,
);
const site = await serveSite(join(root, "site"));
const data = ["--data", site.folder];
BERTH_COMMANDS.run("trust", "add", join(desk, "trust.jwt"), ...data, "--yes");
BERTH_COMMANDS.run("license", "request", ...data, "--product", HOSTILE, "--out", request);
// Slots must not end during this suite, even on a busy machine.
const terms = [
  "--slots",
  "2",
  "--timeout-minutes",
  "600",
  "--allow-weak-binding",
  "--out",
  license,
];
BERTH_COMMANDS.run("vendor", "issue", "--dir", desk, "--request", request, ...terms);
BERTH_COMMANDS.run("license", "add", license, ...data);
const token =
  BERTH_COMMANDS.run("admin", "token", ...data)
    .trim()
    .split("\n")
    .at(-1) ?? "";

const send = (path: string, user: string): Promise<Response> =>
  fetch(`${site.url}api/v4/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ user, os_hostname: HOSTILE, user_info: HOSTILE }),
  });
await send("register", HOSTILE);
for (let number = 1; number <= 60; number += 1) {
  await send("register", `worker-${number}`);
  await send("unregister", `worker-${number}`);
}

const opened = await visit(`${site.url}#/audit`);
const { page } = opened;
const events = page.locator(".event");
await events.first().waitFor();
check(
  "the audit log shows 50 events at first",
  (await events.count()) === 50,
  await events.count(),
);
check(
  "the audit log begins with the newest event",
  (await events.first().textContent())?.includes("worker-60") === true,
);
await opened.checkLayouts("audit-log");

// Older events are added below without moving the events on the screen.
const lastEvent = events.nth(49);
const lastEventTop = async (): Promise<number> => (await lastEvent.boundingBox())?.y ?? Number.NaN;
await page.getByRole("button", { name: "Load older events" }).scrollIntoViewIfNeeded();
const topBefore = await lastEventTop();
await page.getByRole("button", { name: "Load older events" }).click();
await events.nth(99).waitFor();
check(
  "older events are added below without moving the others",
  (await lastEventTop()) === topBefore,
  [topBefore, await lastEventTop()],
);
await page.getByRole("button", { name: "Load older events" }).click();
await page.getByText("Start of the audit log.").waitFor();
const total = await events.count();
const hostileEvents = events.filter({ hasText: HOSTILE });
check(
  "all events down to the first can be loaded, and HTML names are shown as text",
  (await hostileEvents.count()) > 0 && total > 120,
  total,
);
await opened.saveScreenshot("audit-log-beginning");

// New events, while the page is scrolled down and while it shows the newest events.
const summaryText = (await events.nth(100).locator("summary").textContent()) ?? "";
const oldEvent = page.locator("summary", { hasText: summaryText }).first();
await oldEvent.scrollIntoViewIfNeeded();
const oldEventTop = async (): Promise<number> => (await oldEvent.boundingBox())?.y ?? Number.NaN;
const oldEventTopBefore = await oldEventTop();
await send("register", "late-comer");
await page.getByRole("button", { name: "1 new event" }).waitFor();
check(
  "while the page is scrolled down a new event moves nothing",
  (await oldEventTop()) === oldEventTopBefore,
);
await page.getByRole("button", { name: "1 new event" }).click();
await events.first().filter({ hasText: "late-comer" }).waitFor();
await page.evaluate("scrollTo(0, 0)");
await send("unregister", "late-comer");
await events.first().filter({ hasText: "slot released" }).waitFor();
check("at the top of the page a new event appears by itself", true);

// Refusals of one kind are one line with count, reason and users.
await send("register", "one");
await causeThreeRefusals();
await page.getByLabel("Kind").selectOption("Refusals");
const refusalEvent = events.filter({ hasText: "3 requests refused" }).first();
await refusalEvent.waitFor();
const refusalText = (await refusalEvent.textContent()) ?? "";
check(
  "refusals of one kind are one line with their count, reason and users",
  refusalText.includes("refused: no free slot") && refusalText.includes("two, three"),
  refusalText,
);
await opened.checkLayouts("audit-log-refusals");

// The filters are part of the address.
await clearFilters();
await page.getByLabel("Search").fill("WORKER-7");
await page.waitForURL(/text=WORKER-7/);
await events.nth(1).waitFor();
await events.nth(2).waitFor({ state: "detached" });
await events.nth(1).waitFor();
check("searching the audit log ignores upper and lower case", (await events.count()) === 2);
const other = await visit(page.url());
await other.page.locator(".event").nth(1).waitFor();
check(
  "the address of a filtered audit log shows the same events in another tab",
  (await other.page.getByLabel("Search").inputValue()) === "WORKER-7" &&
    (await other.page.locator(".event").count()) === 2,
);
await other.close();
await page.getByLabel("Search").fill("nobody at all");
await page.getByText("No event in the audit log matches.").waitFor();
await opened.checkLayouts("audit-log-no-results");
await clearFilters();
await waitForQuery(/product=/, () => page.getByLabel("Product").selectOption(HOSTILE));
await waitForQuery(/since=/, () => page.getByLabel("From").fill("2020-01-01"));
await page.getByLabel("To", { exact: true }).fill("2020-12-31");
await page.getByText("No event in the audit log matches.").waitFor();
check(
  "the first and the last day of the filter are part of the address",
  new URL(page.url()).hash.endsWith("/from=2020-01-01/to=2020-12-31"),
);
await clearFilters();
await events.filter({ hasText: HOSTILE }).first().waitFor();
await page.getByRole("link", { name: "one", exact: true }).first().click();
await page.getByText("User: one").waitFor();
await events.nth(1).waitFor({ state: "detached" });
// Until the answer is there, the list can be empty.
await events.first().waitFor();
check("a click on a user name shows the events of that user only", (await events.count()) === 1);
await events.first().locator("summary").click();
await page.getByText("os_hostname").waitFor();
await opened.checkLayouts("audit-log-detail");

// Verification and export.
await page.goto(`${site.url}#/audit`);
check(
  "an audit log that was not verified says so",
  await isShown(page.getByText("Not verified yet.")),
);
check(
  "an audit log that was not verified is not called intact",
  (await page.getByText("The audit log is intact.").count()) === 0,
);
await page.getByRole("button", { name: "Verify the audit log" }).click();
await page.getByText("The audit log is intact.").waitFor();
await opened.checkLayouts("audit-log-intact");

await page.getByRole("button", { name: "Export" }).click();
await opened.checkLayouts("audit-log-export");
const exportFile = await saveExport("audit-log.jsonl");
const verification = await runBinary(["audit", "verify", exportFile]);
check("berth audit verify accepts the exported file", verification.code === 0, verification.stderr);
const altered = join(root, "altered.jsonl");
writeFileSync(altered, readFileSync(exportFile, "utf8").replace("worker-7", "worker-8"));
check("and an altered one is not", (await runBinary(["audit", "verify", altered])).code !== 0);
const month = new Date().toISOString().slice(0, 7);
await page.getByLabel("From the beginning of").selectOption(month);
await page.getByLabel("To the end of").selectOption(month);
const monthFile = await saveExport("month.jsonl");
check(
  "the export of the only month is the same as the export of the whole audit log",
  readFileSync(monthFile, "utf8") === readFileSync(exportFile, "utf8"),
);
await page.keyboard.press("Escape");

const journal = readdirSync(site.folder).find((name) => name.startsWith("journal-")) ?? "";
const path = join(site.folder, journal);
const intactText = readFileSync(path, "utf8");
writeFileSync(path, intactText.replace("worker-7", "worker-8"));
await page.getByRole("button", { name: "Verify again" }).click();
await page.getByText("The audit log is damaged.").waitFor();
check(
  "verifying a damaged audit log names the damaged file",
  await isShown(page.getByText(journal).first()),
);
await opened.checkLayouts("audit-log-damaged");

opened.checkNoErrors("the audit log page");
await opened.close();
await site.kill();
finish();

async function visit(url: string): Promise<OperatorPage> {
  const operatorPage = await OperatorPage.open(url);
  await operatorPage.page.getByLabel("Administration token").fill(token);
  await operatorPage.page.getByLabel("Administration token").press("Enter");
  return operatorPage;
}

/** Clears the filters, and waits until the fields are empty: a stale field would set them again. */
async function clearFilters(): Promise<void> {
  const link = page.getByRole("link", { name: "Clear filters" });
  await link.click();
  await link.waitFor({ state: "detached" });
  await isEventuallyTrue(async () => (await page.getByLabel("Search").inputValue()) === "");
}

/** Acts, and waits until the page has sent a request whose URL matches. */
async function waitForQuery(query: RegExp, act: () => Promise<unknown>): Promise<void> {
  const request = page.waitForRequest(query);
  await act();
  await request;
}

/**
 * Repeats until three refusals are one line: the server counts per minute, and a minute may end.
 */
async function causeThreeRefusals(): Promise<void> {
  for (;;) {
    const before = sum(await readRefusalCounts());
    for (const user of ["two", "three", HOSTILE.replace("x", "y")]) await send("register", user);
    const areCounted = await isEventuallyTrue(
      async () => sum(await readRefusalCounts()) === before + 3,
    );
    if (!areCounted || (await readRefusalCounts())[0] === 3) return;
  }
}

/** The counts of the refusal lines, the newest first. */
async function readRefusalCounts(): Promise<number[]> {
  const answer = await fetch(`${site.url}api/admin/v1/audit?type=RefusalsCounted`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { events: lines } = (await answer.json()) as {
    readonly events: readonly { readonly detail: { readonly count: number } }[];
  };
  return lines.map(({ detail }) => detail.count);
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

async function saveExport(name: string): Promise<string> {
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save the audit log" }).click();
  const path = join(root, name);
  await (await download).saveAs(path);
  return path;
}
