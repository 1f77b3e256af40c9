// Who holds what, as an operator looks for somebody and takes a slot back: with a handful of users,
// some of them hostile, and with ten thousand.
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { check, finish, isSoak } from "../support/suite-harness.ts";
import { callApi, registerUsers, startLicensedSite } from "./licensed-site.ts";
import { comesTrue, DESKTOP, HOSTILE, isShown, OperatorPage, PHONE } from "./operator-page.ts";

/** What a person takes for at once: only a machine with nothing else to do can be held to it. */
const AT_ONCE = 100;
const TURNS = isSoak ? 10 : 1;

/** Rows in the document, whatever is shown: as many as fit on a screen, and some beyond its edges. */
const MOST_ROWS = 50;

const site = await startLicensedSite({
  CAD: ["--slots", "20", "--borrow-hours", "48", "--feature", "MESH:slots=3"],
  [HOSTILE]: ["--slots", "3", "--borrow-hours", "48", "--no-early-return"],
  BIG: ["--slots", "10000"],
});
const opened = await OperatorPage.open(new URL("#/slots", site.url).href, {
  acceptDownloads: true,
});
const { page } = opened;
const table = page.getByRole("table", { name: "Who holds what" });
const rows = table.locator(".slot-body [role=row]");
const users = () => rows.locator(".user").allTextContents();
const count = page.locator(".slot-count");
const heading = (name: string) => table.locator(".slot-head").getByRole("button", { name });

// What was asked before there was a token is refused when there is one: that is no reason to forget it.
let letGo = (): void => {};
const held = new Promise<void>((resolve) => (letGo = resolve));
await page.goto(new URL("#/overview", site.url).href);
await page.getByRole("heading", { name: "Overview" }).waitFor();
await page.route("**/registrations/slice?*", async (route) => held.then(() => route.continue()), {
  times: 1,
});
const early = page.waitForRequest("**/registrations/slice?*");
await page.getByRole("link", { name: "Slots", exact: true }).click();
await early;
await page.getByRole("button", { name: "Make the token" }).click();
await page.getByRole("dialog").waitFor();
const late = page.waitForResponse("**/registrations/slice?*");
letGo();
check("a request from before the token is refused", (await late).status() === 401);
await page.getByRole("button", { name: "I have kept it" }).click();
check("and nobody is signed out", await isShown(page.getByRole("button", { name: "Sign out" })));
await page.getByText("No slot is taken.").waitFor();
await opened.checkAccessibility("nobody there");
await opened.saveScreenshot("slots-none");

// A handful.
const cad = { product: "CAD" };
await callApi(site, "register", {
  ...cad,
  user: "user-10",
  os_hostname: "ws-10",
  ip_local: "10.0.0.9",
});
await callApi(site, "register", { ...cad, user: "user-9", os_hostname: "ws-9" });
await callApi(site, "featureRegister", { ...cad, user: "user-9", feature: "MESH" });
await callApi(site, "register", {
  ...cad,
  user: "=cmd|' /C calc'!A0",
  user_info: 'says "hi", often',
});
await callApi(site, "borrow", { ...cad, user: HOSTILE, os_hostname: HOSTILE, user_info: HOSTILE });
await callApi(site, "borrow", {
  product: HOSTILE,
  user: "zoë",
  os_hostname: "a-very-long-name.".repeat(9),
});
await page.getByText("5 of 5").waitFor();
check(
  "five came without a reload",
  await comesTrue(async () => (await rows.count()) === 5),
  await users(),
);
await opened.checkAccessibility("five slots");
await opened.saveScreenshot("slots");
await page.getByRole("button", { name: "Switch to dark" }).click();
await opened.checkAccessibility("five slots in the dark");
await opened.saveScreenshot("slots-dark");
await page.setViewportSize(PHONE);
await opened.checkAccessibility("five slots on a phone in the dark");
await page.getByRole("button", { name: "Switch to light" }).click();
await opened.checkAccessibility("five slots on a phone");
await opened.saveScreenshot("slots-phone");
const wide = await page.evaluate(`document.documentElement.scrollWidth`);
check("nothing is wider than a phone", wide === PHONE.width, wide);
await page.setViewportSize(DESKTOP);

const sort = table.getByRole("columnheader", { name: "User" });
const isSaid = (order: string) =>
  comesTrue(async () => (await sort.getAttribute("aria-sort")) === order);
await heading("User").click();
check("a column that it is sorted by says so", await isSaid("ascending"));
const upwards = await users();
check(
  "sorted by user, as people count",
  upwards.indexOf("user-9") + 1 === upwards.indexOf("user-10"),
  upwards,
);
await heading("User").click();
check(
  "and the other way round",
  (await isSaid("descending")) && (await users()).join() === upwards.toReversed().join(),
  await users(),
);

const search = page.getByLabel("Search");
for (const [typed, expected] of [
  ["mesh", "user-9"],
  ["10.0.0.9", "user-10"],
  ["HI often", "=cmd|' /C calc'!A0"],
  ["onerror cad", HOSTILE],
] as const) {
  await search.fill(typed);
  const isFound = await comesTrue(async () => (await users()).join() === expected);
  check(`“${typed}” finds ${expected}`, isFound, await users());
  await page.getByText("1 of 5").waitFor();
}
await search.fill("nobody at all");
await page.getByText("Nothing matches.").waitFor();
await opened.checkAccessibility("nothing found");
await page.getByRole("button", { name: "Show all" }).click();
await page.getByText("5 of 5").waitFor();
await page.getByLabel("Borrowed only").check();
await page.getByText("2 of 5").waitFor();
await page.getByLabel("Product").selectOption(HOSTILE);
await page.getByText("1 of 5").waitFor();
check(
  "the address says which product",
  await comesTrue(async () => page.url().endsWith(`#/slots/${encodeURIComponent(HOSTILE)}`)),
  page.url(),
);

// One that may not be given back early, and says so.
await page.getByRole("button", { name: `Free zoë’s slot of ${HOSTILE}` }).click();
await page.getByRole("dialog").getByText("This slot is borrowed").waitFor();
await page.getByRole("button", { name: "Free it" }).click();
await page.getByRole("alert").waitFor();
const said = (await page.getByRole("alert").textContent()) ?? "";
check(
  "a slot that must not come back early stays, and the server says why",
  said.includes("the slot stays borrowed until"),
  said,
);
await opened.checkAccessibility("a refusal");
await opened.saveScreenshot("slots-refused");
await page.keyboard.press("Escape");
await page.getByLabel("Borrowed only").uncheck();
await page.getByLabel("Product").selectOption("CAD");
await page.getByText("4 of 5").waitFor();

// One that may.
await page.getByRole("button", { name: `Free ${HOSTILE}’s slot of CAD` }).click();
const command = await page.getByRole("dialog").locator(".command code").textContent();
check(
  "the command is shown, quoted",
  command === `berth release --user '${HOSTILE}' --product CAD`,
  command,
);
await opened.checkAccessibility("asked before it is freed");
await opened.saveScreenshot("slots-free");
await page.getByRole("button", { name: "Free it" }).click();
await page.getByText(`${HOSTILE}’s slot of CAD is free.`).waitFor();
await page.getByText("3 of 4").waitFor();
check("it is free", !(await users()).includes(HOSTILE), await users());

// What can be taken away.
const [download] = await Promise.all([
  page.waitForEvent("download"),
  page.getByRole("button", { name: "Save as CSV" }).click(),
]);
const csv = readFileSync(await download.path(), "utf8");
check(
  "a file holds what is shown, and no formula",
  /\r\nCAD,\d+,'=cmd\|' \/C calc'!A0,/.test(csv) && csv.split("\r\n").length === 5,
  csv,
);
check(
  "named after the day",
  /^slots-\d{4}-\d\d-\d\d\.csv$/.test(download.suggestedFilename()),
  download.suggestedFilename(),
);
await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
const copy = page.getByRole("button", { name: "Copy as CSV" });
check("what is copied is said to be", await opened.flashes("Copied", () => copy.click()));
const copied = await page.evaluate<string>(`navigator.clipboard.readText()`);
check("a copy holds the same as the file", `\uFEFF${copied}` === csv, copied);

// Ten thousand.
await registerUsers(site, "BIG", 10_000);
await page.getByLabel("Product").selectOption("All products");
await page.getByText("10,004 of 10,004").waitFor();
check(
  "only those in view are in the document",
  (await rows.count()) < MOST_ROWS,
  await rows.count(),
);
const stated = await table.getAttribute("aria-rowcount");
check("and a screen reader is told of all", stated === "10005", stated);
await opened.checkAccessibility("ten thousand slots");
await opened.saveScreenshot("slots-many");

await watchFrames(page);
const figures: Record<string, number> = {};
/** The longest the page stood still while something was done: of all times, the best. */
const timed = async (what: string, act: () => Promise<unknown>): Promise<void> => {
  await page.evaluate(`stalls.length = 0`);
  await act();
  await page.waitForTimeout(150);
  const longest = Math.round(await page.evaluate<number>(`Math.max(0, ...stalls)`));
  figures[what] = Math.min(longest, figures[what] ?? Infinity);
};
const slow = () => Object.entries(figures).filter(([, took]) => took > AT_ONCE);
const scroller = page.locator(".slot-scroller");
const scrollTo = (top: number) =>
  page.evaluate(`document.querySelector(".slot-scroller").scrollTop = ${top}`);
const top = () => page.evaluate<number>(`document.querySelector(".slot-scroller").scrollTop`);

async function everything(turn: number): Promise<void> {
  for (const key of "user-77") await timed(`key “${key}”`, () => search.press(key));
  if (turn === 0) {
    check("a search finds its part of them", await isShown(count.filter({ hasText: /^111 of / })));
  }
  for (let left = 7; left > 0; left -= 1) await timed("backspace", () => search.press("Backspace"));
  for (const column of ["Host", "Address", "Since", "Until", "User", "Info"]) {
    await timed(`sort by ${column}`, () => heading(column).click());
    await timed(`sort by ${column}, the other way`, () => heading(column).click());
  }
  await timed("scroll to the end", () => scrollTo(1e9));
  const lastRow = () => rows.last().getAttribute("aria-rowindex");
  const isLast = await comesTrue(async () => (await lastRow()) === String(10_005 + turn));
  check("the last row knows its place", isLast, await lastRow());
  await timed("wheel", async () => {
    await scroller.hover();
    for (let notch = 0; notch < 20; notch += 1) await page.mouse.wheel(0, -2_000);
  });
  await scrollTo(0);
  await scroller.focus();
  await timed("page down", () => page.keyboard.press("PageDown"));
  await timed("refresh", async () => {
    await callApi(site, "register", { product: "CAD", user: `latecomer-${turn}` });
    const total = `10,0${String(5 + turn).padStart(2, "0")}`;
    await page.getByText(`${total} of ${total}`).waitFor();
  });
}

// Others use this machine too, and what we are slow at is slow every time.
for (let turn = 0; turn === 0 || (slow().length > 0 && turn < TURNS); turn += 1) {
  await everything(turn);
}
console.log(figures);
// This is what makes it fast, on any machine.
const most = await page.evaluate<number>(`mostRows`);
check("whatever is done, the document holds no more rows", most > 0 && most < MOST_ROWS, most);
if (isSoak) {
  check(`with 10,000 slots nothing takes more than ${AT_ONCE} ms`, slow().length === 0, slow());
}

await scrollTo(0);
await scroller.focus();
await page.keyboard.press("PageDown");
const isPaged = await comesTrue(async () => (await top()) > 200);
// What is left of that scroll must not be taken for another one.
let paged = -1;
while (paged !== (await top())) {
  paged = await top();
  await page.waitForTimeout(300);
}
await page.keyboard.press("ArrowDown");
const isFurther = await comesTrue(async () => (await top()) > paged);
check("page and arrow keys scroll", isPaged && isFurther, [paged, await top()]);
await rows.nth(8).getByRole("button").focus();
await page.keyboard.press("End");
check(
  "and go on when the button that had the focus is gone",
  await opened.isEventually(`document.activeElement.className === "slot-scroller"`),
  await page.evaluate(`document.activeElement.className`),
);
await page.setViewportSize(PHONE);
await page.waitForTimeout(300);
await opened.checkAccessibility("ten thousand slots on a phone");
await opened.saveScreenshot("slots-many-phone");

opened.checkNoErrors("the slots");
await opened.close();
await site.stop();
finish();

/**
 * From here on `stalls` holds how long each frame took that took long, and each long event;
 * `mostRows`, how many rows of slots there were at most.
 */
async function watchFrames(on: Page): Promise<void> {
  await on.evaluate(`(() => {
    globalThis.stalls = [];
    for (const type of ["longtask", "event"]) {
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) stalls.push(duration);
      }).observe({ type, durationThreshold: 16 });
    }
    globalThis.mostRows = 0;
    new MutationObserver(() => {
      mostRows = Math.max(mostRows, document.querySelectorAll(".slot-body [role=row]").length);
    }).observe(document.body, { subtree: true, childList: true });
  })()`);
}
