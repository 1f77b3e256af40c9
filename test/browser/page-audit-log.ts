// What happened, as somebody reads it who looks for one thing, for everything, or for proof.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, finish, makeTempFolder } from "../support/suite-harness.ts";
import { runBinary } from "../support/binary.ts";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import { comesTrue, HOSTILE, isShown, OperatorPage, serveSite } from "./operator-page.ts";

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
// A slot is held for longer than this takes, on a machine with much else to do, too.
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
for (let turn = 1; turn <= 60; turn += 1) {
  await send("register", `worker-${turn}`);
  await send("unregister", `worker-${turn}`);
}

const opened = await visit(`${site.url}#/audit`);
const { page } = opened;
const events = page.locator(".event");
await events.first().waitFor();
check("a page of the record is there at once", (await events.count()) === 50, await events.count());
check(
  "the newest stands first",
  (await events.first().textContent())?.includes("worker-60") === true,
);
await opened.checkLayouts("record");

// Older ones follow, and what one reads stays where it is.
const marked = events.nth(49);
const placeOf = async (): Promise<number> => (await marked.boundingBox())?.y ?? Number.NaN;
await page.getByRole("button", { name: "Older events" }).scrollIntoViewIfNeeded();
const stood = await placeOf();
await page.getByRole("button", { name: "Older events" }).click();
await events.nth(99).waitFor();
check("older events come in below", (await placeOf()) === stood, [stood, await placeOf()]);
await page.getByRole("button", { name: "Older events" }).click();
await page.getByText("This is the beginning of the audit log.").waitFor();
const all = await events.count();
const evil = events.filter({ hasText: HOSTILE });
check(
  "down to the very first, names shown as they are",
  (await evil.count()) > 0 && all > 120,
  all,
);
await opened.saveScreenshot("record-beginning");

// News, while one reads far down and while one looks at the newest.
const line = (await events.nth(100).locator("summary").textContent()) ?? "";
const read = page.locator("summary", { hasText: line }).first();
await read.scrollIntoViewIfNeeded();
const where = async (): Promise<number> => (await read.boundingBox())?.y ?? Number.NaN;
const before = await where();
await send("register", "late-comer");
await page.getByRole("button", { name: "1 new event" }).waitFor();
check("news waits while one reads, and nothing moves", (await where()) === before);
await page.getByRole("button", { name: "1 new event" }).click();
await events.first().filter({ hasText: "late-comer" }).waitFor();
await page.evaluate("scrollTo(0, 0)");
await send("unregister", "late-comer");
await events.first().filter({ hasText: "slot released" }).waitFor();
check("while the newest are looked at, news comes in by itself", true);

// Refusals are counted: one line, how often, why and who.
await send("register", "one");
await refuseThree();
await page.getByLabel("Kind").selectOption("Refusals");
const refused = events.filter({ hasText: "3 requests refused" }).first();
await refused.waitFor();
const told = (await refused.textContent()) ?? "";
check(
  "refusals are one line with their count, reason and users",
  told.includes("refused: no free slot") && told.includes("two, three"),
  told,
);
await opened.checkLayouts("record-refusals");

// A filter stands in the address.
await showEverything();
await page.getByLabel("Search").fill("WORKER-7");
await page.waitForURL(/text=WORKER-7/);
await events.nth(1).waitFor();
await events.nth(2).waitFor({ state: "detached" });
await events.nth(1).waitFor();
check("a search finds what is shown, in whatever case", (await events.count()) === 2);
const other = await visit(page.url());
await other.page.locator(".event").nth(1).waitFor();
check(
  "whoever follows the address sees the same",
  (await other.page.getByLabel("Search").inputValue()) === "WORKER-7" &&
    (await other.page.locator(".event").count()) === 2,
);
await other.close();
await page.getByLabel("Search").fill("nobody at all");
await page.getByText("No event in the audit log matches.").waitFor();
await opened.checkLayouts("record-nothing");
await showEverything();
await asking(/product=/, () => page.getByLabel("Product").selectOption(HOSTILE));
await asking(/since=/, () => page.getByLabel("From").fill("2020-01-01"));
await page.getByLabel("To", { exact: true }).fill("2020-12-31");
await page.getByText("No event in the audit log matches.").waitFor();
check("days bound it", new URL(page.url()).hash.endsWith("/from=2020-01-01/to=2020-12-31"));
await showEverything();
await events.filter({ hasText: HOSTILE }).first().waitFor();
await page.getByRole("link", { name: "one", exact: true }).first().click();
await page.getByText("only of user one").waitFor();
await events.nth(1).waitFor({ state: "detached" });
// Until what was asked for is there, there may be none.
await events.first().waitFor();
check("a name leads to everything about it", (await events.count()) === 1);
await events.first().locator("summary").click();
await page.getByText("os_hostname").waitFor();
await opened.checkLayouts("record-detail");

// Proof: a mark is earned, a file can be checked, damage is told.
await page.goto(`${site.url}#/audit`);
check("no mark that nobody earned", await isShown(page.getByText("Not checked yet.")));
check("none at all", (await page.getByText("The audit log is intact.").count()) === 0);
await page.getByRole("button", { name: "Check the chain" }).click();
await page.getByText("The audit log is intact.").waitFor();
await opened.checkLayouts("record-whole");

await page.getByRole("button", { name: "Save as file" }).click();
await opened.checkLayouts("record-export");
const saved = await save("record.jsonl");
const good = await runBinary(["audit", "verify", saved]);
check("the saved record is whole by the command shown beside it", good.code === 0, good.stderr);
const altered = join(root, "altered.jsonl");
writeFileSync(altered, readFileSync(saved, "utf8").replace("worker-7", "worker-8"));
check("and an altered one is not", (await runBinary(["audit", "verify", altered])).code !== 0);
const month = new Date().toISOString().slice(0, 7);
await page.getByLabel("From the beginning of").selectOption(month);
await page.getByLabel("To the end of").selectOption(month);
const ofMonth = await save("month.jsonl");
check(
  "a month of it is the same, when there is but one",
  readFileSync(ofMonth, "utf8") === readFileSync(saved, "utf8"),
);
await page.keyboard.press("Escape");

const journal = readdirSync(site.folder).find((name) => name.startsWith("journal-")) ?? "";
const path = join(site.folder, journal);
const whole = readFileSync(path, "utf8");
writeFileSync(path, whole.replace("worker-7", "worker-8"));
await page.getByRole("button", { name: "Check again" }).click();
await page.getByText("The audit log is damaged.").waitFor();
check("damage is told, with where it is", await isShown(page.getByText(journal).first()));
await opened.checkLayouts("record-broken");

opened.checkNoErrors("the record");
await opened.close();
await site.kill();
finish();

async function visit(url: string): Promise<OperatorPage> {
  const visited = await OperatorPage.open(url);
  await visited.page.getByLabel("Administration token").fill(token);
  await visited.page.getByLabel("Administration token").press("Enter");
  return visited;
}

/** The whole record, and fields that know of it: each of them sets what it does not know back. */
async function showEverything(): Promise<void> {
  const link = page.getByRole("link", { name: "Show everything" });
  await link.click();
  await link.waitFor({ state: "detached" });
  await comesTrue(async () => (await page.getByLabel("Search").inputValue()) === "");
}

/** Does something until the page has asked for what fits it. */
async function asking(query: RegExp, act: () => Promise<unknown>): Promise<void> {
  const asked = page.waitForRequest(query);
  await act();
  await asked;
}

/** In one line of the record: the server counts each minute, and it may end between two of them. */
async function refuseThree(): Promise<void> {
  for (;;) {
    const before = total(await refusals());
    for (const user of ["two", "three", HOSTILE.replace("x", "y")]) await send("register", user);
    const areCounted = await comesTrue(async () => total(await refusals()) === before + 3);
    if (!areCounted || (await refusals())[0] === 3) return;
  }
}

/** How many each line of the record counts, the newest first. */
async function refusals(): Promise<number[]> {
  const answer = await fetch(`${site.url}api/admin/v1/audit?type=RefusalsCounted`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { events: lines } = (await answer.json()) as {
    readonly events: readonly { readonly detail: { readonly count: number } }[];
  };
  return lines.map(({ detail }) => detail.count);
}

function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

async function save(name: string): Promise<string> {
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save the audit log" }).click();
  const to = join(root, name);
  await (await download).saveAs(to);
  return to;
}
