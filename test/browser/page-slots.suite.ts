// The Slots page: sorting, searching, releasing and exporting with a handful of users, some with
// hostile names, and scrolling with ten thousand.
import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Locator, Page } from "playwright-core";
import { isSoak } from "../support/suite-harness.ts";
import { callApi, registerUsers, startLicensedSite, type Licensed } from "./licensed-site.ts";
import {
  createToken,
  expectEventually,
  HOSTILE,
  openSignedIn,
  OperatorPage,
  PHONE,
} from "./operator-page.ts";

/** What a person takes for immediate, in ms. Only an idle machine can meet it: a soak run checks. */
const MAX_STALL = 100;
const MAX_ROUNDS = isSoak ? 10 : 1;

/** Limit for table rows in the DOM: those that fit on the screen, and some above and below. */
const MAX_ROWS = 50;

const CAD = { product: "CAD" };
const LONG = "a-very-long-name.".repeat(9);
const FORMULA = "=cmd|' /C calc'!A0";

let site: Licensed;
let token: string;

interface SlotsPage {
  readonly opened: OperatorPage;
  readonly page: Page;
  readonly table: Locator;
  readonly rows: Locator;
  readonly search: Locator;
  readonly users: () => Promise<string[]>;
  readonly heading: (name: string) => Locator;
  /** Waits until the page says how many slots of how many it shows. */
  readonly waitForCount: (text: string) => Promise<void>;
}

test("a request refused because it was sent before the first token does not sign out the tab", async () => {
  const newSite = await startLicensedSite({ CAD: ["--slots", "1"] });
  const opened = await OperatorPage.open(newSite.url);
  const { page } = opened;
  let continueRequest = (): void => {};
  const delay = new Promise<void>((resolve) => (continueRequest = resolve));
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const list = "**/registrations/changes*";
  await page.route(list, async (route) => delay.then(() => route.continue()).catch(() => {}), {
    times: 1,
  });
  const earlyRequest = page.waitForRequest(list);
  await page.getByRole("link", { name: "Slots", exact: true }).click();
  const early = await earlyRequest;
  await page.getByRole("button", { name: "Create the admin token" }).click();
  await page.getByRole("dialog").waitFor();
  continueRequest();
  // The page may have given up the request by then; the server refuses it otherwise.
  expect([undefined, 401]).toContain((await early.response().catch(() => null))?.status());
  await page.getByRole("button", { name: "I have saved it" }).click();
  await opened.waitUntilSignedIn();
  await page.getByText("No slots in use").waitFor();
  await opened.checkAccessibility("slots page without slots in use");
  await opened.saveScreenshot("slots-none");
  await newSite.stop();
});

describe("with five slots in use", () => {
  beforeAll(async () => {
    site = await startLicensedSite({
      CAD: ["--slots", "20", "--borrow-hours", "48", "--feature", "MESH:slots=3"],
      [HOSTILE]: ["--slots", "3", "--borrow-hours", "48", "--no-early-return"],
      BIG: ["--slots", "10000"],
    });
    token = await createToken(site);
  });

  beforeEach(occupyFiveSlots);

  test("the slots page shows a new slot without a reload", async () => {
    const { rows, users, waitForCount } = await openSlots("5 slots in use");
    await callApi(site, "register", { ...CAD, user: "newcomer" });
    await waitForCount("6 slots in use");
    await expectEventually(() => rows.count(), 6);
    expect(await users()).toContain("newcomer");
    await callApi(site, "unregister", { ...CAD, user: "newcomer" });
    await waitForCount("5 slots in use");
    await expectEventually(() => rows.count(), 5);
  });

  test("the slots page is accessible and fits on desktop and phone, light and dark", async () => {
    const { opened, page } = await openSlots("5 slots in use");
    await opened.checkAccessibility("slots page with five slots");
    await opened.saveScreenshot("slots");
    await opened.chooseTheme("Dark");
    await opened.checkAccessibility("slots page with five slots, dark");
    await opened.saveScreenshot("slots-dark");
    await page.setViewportSize(PHONE);
    await opened.checkAccessibility("slots page with five slots, phone, dark");
    await opened.chooseTheme("Light");
    await opened.checkAccessibility("slots page with five slots, phone");
    await opened.saveScreenshot("slots-phone");
    expect(await page.evaluate<number>(`document.documentElement.scrollWidth`)).toBe(PHONE.width);
  });

  test("the slots table sorts by user with numbers by value, and the other way round", async () => {
    const { table, heading, users } = await openSlots("5 slots in use");
    const order = () => table.getByRole("columnheader", { name: "User" }).getAttribute("aria-sort");
    await heading("User").click();
    await expectEventually(order, "ascending");
    const ascending = await users();
    expect(ascending).toHaveLength(5);
    expect(ascending.indexOf("user-9") + 1).toBe(ascending.indexOf("user-10"));
    await heading("User").click();
    await expectEventually(order, "descending");
    expect(await users()).toEqual(ascending.toReversed());
  });

  test.each([
    ["mesh", "user-9"],
    ["10.0.0.9", "user-10"],
    ["HI often", FORMULA],
    ["onerror cad", HOSTILE],
  ])("searching the slots for “%s” finds %s", async (query, expected) => {
    const { search, users, waitForCount } = await openSlots("5 slots in use");
    await search.fill(query);
    await expectEventually(users, [expected]);
    await waitForCount("1 of 5 shown: contains “");
  });

  test("a search of the slots without results offers to show all", async () => {
    const { opened, page, search, waitForCount } = await openSlots("5 slots in use");
    await search.fill("nobody at all");
    await page.getByText("No results").waitFor();
    await opened.checkAccessibility("slots page, a search without results");
    await page.getByRole("button", { name: "Show all" }).click();
    await waitForCount("5 slots in use");
  });

  test("the slots page filters by borrowed slots and by product, which is in its address", async () => {
    const { page, waitForCount } = await openSlots("5 slots in use");
    await page.getByLabel("Borrowed only").check();
    await waitForCount("2 of 5 shown: borrowed only");
    await page.getByLabel("Product").selectOption(HOSTILE);
    await waitForCount(`1 of 1 ${HOSTILE} shown: borrowed only`);
    await expectEventually(
      () => new URL(page.url()).hash,
      `#/slots/${encodeURIComponent(HOSTILE)}`,
    );
    await page.getByLabel("Borrowed only").uncheck();
    await page.getByLabel("Product").selectOption("CAD");
    await waitForCount("4 of 20 CAD slots in use");
  });

  test("releasing a borrowed slot early is refused with the reason if the license forbids it", async () => {
    const { opened, page } = await openSlots("5 slots in use");
    await page.getByRole("button", { name: `Release zoë’s slot of ${HOSTILE}` }).click();
    await page.getByRole("dialog").getByText("This slot is borrowed").waitFor();
    await page.getByRole("button", { name: "Release the slot" }).click();
    expect(await page.getByRole("alert").textContent()).toContain("the slot stays borrowed until");
    await opened.checkAccessibility("slots page, a release that is refused");
    await opened.saveScreenshot("slots-refused");
  });

  test("the release dialog shows the command with a quoted user name, and releases the slot", async () => {
    const { opened, page, users, waitForCount } = await openSlots("5 slots in use");
    await page.getByRole("button", { name: `Release ${HOSTILE}’s slot of CAD` }).click();
    expect(await page.getByRole("dialog").locator(".command code").textContent()).toContain(
      ` release --user '${HOSTILE}' --product CAD`,
    );
    await opened.checkAccessibility("slots page, the release dialog");
    await opened.saveScreenshot("slots-release");
    await page.getByRole("button", { name: "Release the slot" }).click();
    await page.getByText(`${HOSTILE}’s slot of CAD was released.`).waitFor();
    await waitForCount("4 slots in use");
    expect(await users()).not.toContain(HOSTILE);
  });

  test("a slot that is released elsewhere disappears although the list is read only once", async () => {
    const { page, rows, users } = await openSlots("5 slots in use");
    const slices: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("/registrations/slice")) slices.push(request.url());
    });
    const box = page.getByRole("checkbox", { name: "Select user-9’s slot of CAD" });
    await box.check();
    await callApi(site, "unregister", { ...CAD, user: "user-10" });
    await expectEventually(() => rows.count(), 4);
    expect(await users()).not.toContain("user-10");
    expect(await box.isChecked()).toBe(true);
    expect(slices).toEqual([]);
  });

  test("several slots are selected and released with one confirmation, which names the borrowed ones", async () => {
    const { opened, page, users, heading, waitForCount } = await openSlots("5 slots in use");
    await page.getByRole("checkbox", { name: "Select all 5 shown" }).check();
    await page.getByText("5 selected").waitFor();
    await opened.checkAccessibility("slots page with a selection");
    await page.keyboard.press("Escape");
    await expectEventually(() => page.getByText("5 selected").count(), 0);
    await heading("User").click();
    await page.getByRole("checkbox", { name: `Select ${HOSTILE}’s slot of CAD` }).check();
    const last = page.getByRole("checkbox", { name: /^Select user-10/ });
    await last.click({ modifiers: ["Shift"] });
    await page.getByRole("button", { name: "Release 4…" }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.getByRole("listitem").count()).toBe(4);
    await dialog.getByText("1 of them is borrowed").waitFor();
    await opened.checkAccessibility("slots page, release of several slots");
    await opened.saveScreenshot("slots-release-several");
    await dialog.getByRole("button", { name: "Release 4 slots" }).click();
    await page.getByText("4 slots were released.").waitFor();
    await waitForCount("1 slot in use");
    expect(await users()).toEqual(["zoë"]);
  });

  test("slots that cannot be released are named with the reason", async () => {
    const { page, waitForCount } = await openSlots("5 slots in use");
    await page.getByRole("checkbox", { name: "Select all 5 shown" }).check();
    await page.getByRole("button", { name: "Release 5…" }).click();
    await page.getByRole("button", { name: "Release 5 slots" }).click();
    await page.getByText("4 slots were released. 1 slot not released:").waitFor();
    await page.getByText(/^zoë: .*the slot stays borrowed until/).waitFor();
    await waitForCount("1 slot in use");
  });

  test("all slots of a product are released only after its name was typed", async () => {
    const { opened, page, waitForCount } = await openSlots("5 slots in use");
    await page.getByLabel("Product").selectOption("CAD");
    await page.getByRole("button", { name: "Release all of CAD…" }).click();
    const confirm = page.getByRole("dialog").getByRole("button", { name: "Release all" });
    expect(await confirm.isDisabled()).toBe(true);
    await page.getByLabel("Type CAD to confirm").fill("cad");
    expect(await confirm.isDisabled()).toBe(true);
    await page.getByLabel("Type CAD to confirm").fill("CAD");
    await opened.checkAccessibility("slots page, release of a product");
    await opened.saveScreenshot("slots-release-product");
    await confirm.click();
    await page.getByText("4 slots of CAD were released.").waitFor();
    await page.getByLabel("Product").selectOption("");
    await waitForCount("1 slot in use");
  });

  test("the key / goes to the search, and Escape clears it, then the filters", async () => {
    const { page, search, waitForCount } = await openSlots("5 slots in use");
    await page.getByLabel("Product").selectOption("CAD");
    await page.locator(".slot-scroller").focus();
    await page.keyboard.press("/");
    await page.keyboard.type("user-9");
    expect(await search.inputValue()).toBe("user-9");
    await waitForCount("1 of 4 CAD shown: contains “user-9”");
    await page.keyboard.press("Escape");
    await waitForCount("4 of 20 CAD slots in use");
    await page.keyboard.press("Escape");
    await waitForCount("5 slots in use");
  });

  test("the details show everything of a slot in full, and lead to the history of its user", async () => {
    const { opened, page } = await openSlots("5 slots in use");
    await page.getByRole("button", { name: `Details of zoë’s slot of ${HOSTILE}` }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(LONG).waitFor();
    for (const fact of ["Last seen", "In use since", "Borrowed until", "Seen from", "License"])
      await dialog.getByText(fact, { exact: true }).waitFor();
    await opened.checkAccessibility("slots page, the details of a slot");
    await opened.saveScreenshot("slots-details");
    await dialog.getByRole("link", { name: "Show the user’s history" }).click();
    await page.getByRole("heading", { name: "Audit log" }).waitFor();
    await expectEventually(() => decodeURIComponent(new URL(page.url()).hash), "#/audit/user=zoë");
  });

  test("a viewer sees the slots and their details, but nothing to select or release", async () => {
    const viewer = await createToken(site, "viewer", "viewer");
    const { page } = await openSlots("5 slots in use", null, viewer);
    await page.getByLabel("Product").selectOption("CAD");
    await page.getByText("4 of 20 CAD slots in use").waitFor();
    expect(await page.getByRole("button", { name: /Release/ }).count()).toBe(0);
    expect(await page.getByRole("checkbox", { name: /^Select/ }).count()).toBe(0);
    await page.getByRole("button", { name: /^Details of user-9/ }).click();
    await page.getByRole("dialog").getByText("Last seen").waitFor();
    expect(await page.getByRole("button", { name: /Release/ }).count()).toBe(0);
  });

  test.each([360, 720, 1024, 1440, 2560])(
    "the slots fit into a window of %i pixels, and every button is inside its row",
    async (width) => {
      const { opened, page, rows } = await openSlots("5 slots in use", { width, height: 900 });
      await expectEventually(() => rows.count(), 5);
      expect(await page.evaluate<unknown>(FIND_OVERFLOWS)).toEqual([]);
      const kinds = {
        360: "narrow-card",
        720: "wide-card",
        1024: "table",
        1440: "table",
        2560: "table",
      };
      const scroller = await page.locator(".slot-scroller").getAttribute("class");
      expect(scroller).toBe(`slot-scroller ${kinds[width]}`);
      await opened.checkAccessibility(`slots page of ${width} pixels`);
      await opened.saveScreenshot(`slots-${width}`);
    },
  );

  test("the slots are saved and copied as CSV without a cell that can run as a formula", async () => {
    const { opened, page, waitForCount } = await openSlots("5 slots in use");
    await page.getByLabel("Product").selectOption("CAD");
    await waitForCount("4 of 20 CAD slots in use");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save as CSV" }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^slots-.+-\d{4}-\d\d-\d\d\.csv$/);
    const csv = readFileSync(await download.path(), "utf8");
    expect(csv).toMatch(/\r\n'=cmd\|' \/C calc'!A0,CAD,/);
    // A line with the names of the columns, four slots, and the end of the last line.
    expect(csv.split("\r\n")).toHaveLength(6);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const copy = page.getByRole("button", { name: "Copy as CSV" });
    await opened.expectBriefly("Copied", () => copy.click());
    expect(`\uFEFF${await page.evaluate<string>(`navigator.clipboard.readText()`)}`).toBe(csv);
  });
});

describe("with 10,000 slots in use", () => {
  /** How many slots are in use. */
  let total = 10_000;

  beforeAll(async () => {
    site = await startLicensedSite({ BIG: ["--slots", "10000"], CAD: ["--slots", "20"] });
    token = await createToken(site);
    await registerUsers(site, "BIG", total);
  });

  const openTable = (): Promise<SlotsPage> => {
    const count = total.toLocaleString("en-GB");
    return openSlots(`${count} slots in use`);
  };

  test("the slots table holds only the rows in view, and aria-rowcount counts all 10,000", async () => {
    const { opened, page, rows, table } = await openTable();
    expect(await rows.count()).toBeLessThan(MAX_ROWS);
    expect(await table.getAttribute("aria-rowcount")).toBe(String(total + 1));
    await opened.checkAccessibility("slots page with 10,000 slots");
    await opened.saveScreenshot("slots-many");
    await page.setViewportSize(PHONE);
    await opened.checkAccessibility("slots page with 10,000 slots, phone");
    await opened.saveScreenshot("slots-many-phone");
  });

  test("the question before 10,000 slots are released lists the first 100 and counts the rest", async () => {
    const { page } = await openTable();
    await page.getByRole("checkbox", { name: "Select all 10,000 shown" }).check();
    await page.getByRole("button", { name: "Release 10,000…" }).click();
    const items = page.getByRole("list", { name: "Slots to release" }).getByRole("listitem");
    await items.last().getByText("and 9,900 more").waitFor();
    expect(await items.count()).toBe(101);
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("10,000 slots in use").waitFor();
  });

  test("printing gives every slot that the filter selects, and says if there are more", async () => {
    const { page, search, waitForCount } = await openTable();
    const printedRows = page.locator(".printed-slots tbody tr");
    const missing = page.getByText("Only the first 2,000 of 10,000 slots are printed.");
    await page.emulateMedia({ media: "print" });
    await page.evaluate(`dispatchEvent(new Event("beforeprint"))`);
    await missing.waitFor();
    expect(await printedRows.count()).toBe(2_000);
    await page.evaluate(`dispatchEvent(new Event("afterprint"))`);
    await expectEventually(() => page.locator(".printed-slots").count(), 0);
    await page.emulateMedia({ media: "screen" });
    await search.fill("ws-7.lab");
    await waitForCount("20 of 10,000 shown");
    await page.emulateMedia({ media: "print" });
    await page.evaluate(`dispatchEvent(new Event("beforeprint"))`);
    await expectEventually(() => printedRows.count(), 20);
    expect(await missing.count()).toBe(0);
    await page.evaluate(`dispatchEvent(new Event("afterprint"))`);
    await page.emulateMedia({ media: null });
    await search.fill("night");
    await waitForCount("3,334 of 10,000 shown");
    // The browser lays out the paper itself, after the page has prepared the list.
    const paper = (await page.pdf({ format: "A4" })).toString("latin1");
    expect(paper.match(/\/Type \/Page\b/g)?.length ?? 0).toBeGreaterThan(20);
  });

  test("searching, sorting and scrolling 10,000 slots never fill the DOM or stall the page", async () => {
    const slots = await openTable();
    const { page } = slots;
    await watchFrames(page);
    const stalls = new Stalls(page);
    // Other processes slow the page down at times; what is slow by itself is slow in every round.
    for (
      let round = 0;
      round === 0 || (stalls.slow().length > 0 && round < MAX_ROUNDS);
      round += 1
    ) {
      await useTable(slots, stalls, round);
    }
    console.log("longest stall of the page by action, in ms:", stalls.longest);
    // The number of rows in the DOM is what makes the table fast on any machine.
    const mostRows = await page.evaluate<number>(`mostRows`);
    expect(mostRows).toBeGreaterThan(0);
    expect(mostRows).toBeLessThan(MAX_ROWS);
    if (isSoak) expect(stalls.slow()).toEqual([]);
  });

  async function useTable(
    { page, search, heading, rows }: SlotsPage,
    stalls: Stalls,
    round: number,
  ): Promise<void> {
    for (const key of "user-77") await stalls.measure(`key “${key}”`, () => search.press(key));
    await page
      .locator(".slot-count")
      .filter({ hasText: /^111 of / })
      .waitFor();
    for (let left = 7; left > 0; left -= 1)
      await stalls.measure("backspace", () => search.press("Backspace"));
    for (const column of ["Host", "Address", "Last seen", "Duration", "User", "Info"]) {
      await stalls.measure(`sort by ${column}`, () => heading(column).click());
      await stalls.measure(`sort by ${column}, the other way`, () => heading(column).click());
    }
    await stalls.measure("scroll to the end", () => scrollTo(page, 1e9));
    await expectEventually(() => rows.last().getAttribute("aria-rowindex"), String(total + 1));
    await stalls.measure("wheel", async () => {
      await page.locator(".slot-scroller").hover();
      for (let notch = 0; notch < 20; notch += 1) await page.mouse.wheel(0, -2_000);
    });
    await scrollTo(page, 0);
    await page.locator(".slot-scroller").focus();
    await stalls.measure("page down", () => page.keyboard.press("PageDown"));
    await stalls.measure("refresh", async () => {
      await callApi(site, "register", { ...CAD, user: `latecomer-${round}` });
      total += 1;
      const count = total.toLocaleString("en-GB");
      await page.getByText(`${count} slots in use`).waitFor();
    });
  }

  test("the Page Down and arrow keys scroll the table of 10,000 slots", async () => {
    const { page } = await openTable();
    const scrollTop = () =>
      page.evaluate<number>(`document.querySelector(".slot-scroller").scrollTop`);
    // The browser drops a smooth scroll if the page is laid out again meanwhile: press again then,
    // as a user would. The focus is set only once, and must stay.
    const pressUntilBelow = (key: string, top: number) =>
      expectEventually(async () => {
        await page.keyboard.press(key);
        await page.waitForTimeout(100);
        return (await scrollTop()) > top;
      }, true);
    await page.locator(".slot-scroller").focus();
    await pressUntilBelow("PageDown", 200);
    // Wait for the end of this smooth scroll, or it would be taken for the next one.
    let pagedTo = -1;
    while (pagedTo !== (await scrollTop())) {
      pagedTo = await scrollTop();
      await page.waitForTimeout(300);
    }
    await pressUntilBelow("ArrowDown", pagedTo);
  });

  test("the slots table gets the focus when the focused row is scrolled away", async () => {
    const { opened, page, rows } = await openTable();
    await rows.nth(8).getByRole("button").first().focus();
    await page.keyboard.press("End");
    await opened.expectEventually(`document.activeElement.className`, "slot-scroller table");
  });
});

/** Opens the page, and waits until it shows as many slots. */
async function openSlots(
  count: string,
  viewport: { width: number; height: number } | null = null,
  credential = token,
): Promise<SlotsPage> {
  const opened = await openSignedIn(site, credential, "#/slots");
  const { page } = opened;
  if (viewport !== null) await page.setViewportSize(viewport);
  const table = page.getByRole("table", { name: "Slots in use" });
  const rows = table.locator(".slot-body [role=row]");
  await page.getByText(count).waitFor();
  return {
    opened,
    page,
    table,
    rows,
    search: page.getByLabel("Search"),
    users: () => rows.locator(".cell-user").allTextContents(),
    heading: (name) => table.locator(".slot-head").getByRole("button", { name }),
    waitForCount: (text) => page.getByText(text).waitFor(),
  };
}

/** Also puts back what a test has released. */
async function occupyFiveSlots(): Promise<void> {
  const names = { user: HOSTILE, os_hostname: HOSTILE, user_info: HOSTILE };
  const ten = { user: "user-10", os_hostname: "ws-10", ip_local: "10.0.0.9" };
  await callApi(site, "register", { ...CAD, ...ten });
  await callApi(site, "register", { ...CAD, user: "user-9", os_hostname: "ws-9" });
  await callApi(site, "featureRegister", { ...CAD, user: "user-9", feature: "MESH" });
  await callApi(site, "register", { ...CAD, user: FORMULA, user_info: 'says "hi", often' });
  await callApi(site, "borrow", { ...CAD, ...names });
  await callApi(site, "borrow", { product: HOSTILE, user: "zoë", os_hostname: LONG });
}

/**
 * What is outside of the window or of its own row, or lies over another button. A text that is too
 * long ends with an ellipsis, and the details show it.
 */
const FIND_OVERFLOWS = `(() => {
  const problems = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) problems.push("the page scrolls sideways");
  const scroller = document.querySelector(".slot-scroller");
  if (scroller.scrollWidth > scroller.clientWidth) problems.push("the list scrolls sideways");
  const isInside = (inner, outer) =>
    inner.left >= outer.left - 1 && inner.right <= outer.right + 1 &&
    inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1;
  for (const row of document.querySelectorAll(".slot-row:not(.visually-hidden *)")) {
    const bounds = row.getBoundingClientRect();
    const cells = [...row.children].map((cell) => cell.getBoundingClientRect());
    for (const [index, cell] of cells.entries()) {
      const name = row.textContent.slice(0, 20) + ", cell " + index;
      if (!isInside(cell, bounds)) problems.push(name + " is outside of its row");
      for (const other of cells.slice(index + 1)) {
        const overlaps = cell.left < other.right - 1 && other.left < cell.right - 1 &&
          cell.top < other.bottom - 1 && other.top < cell.bottom - 1;
        if (overlaps) problems.push(name + " overlaps another");
      }
    }
    for (const control of row.querySelectorAll("button, input")) {
      if (!isInside(control.getBoundingClientRect(), bounds))
        problems.push(control.getAttribute("aria-label") + " is cut off");
    }
  }
  return problems;
})()`;

/** Until the page has drawn what an action has changed. */
const NEXT_FRAME = `new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
  .then(() => null)`;

/** By action, the longest stall of the page in ms; of several rounds, the best. */
class Stalls {
  readonly longest: Record<string, number> = {};
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  async measure(action: string, act: () => Promise<unknown>): Promise<void> {
    await this.#page.evaluate(`stalls.length = 0`);
    await act();
    // The browser reports a stall after it has ended. Only a soak run judges how long it was.
    await (isSoak ? this.#page.waitForTimeout(150) : this.#page.evaluate(NEXT_FRAME));
    const stall = Math.round(await this.#page.evaluate<number>(`Math.max(0, ...stalls)`));
    this.longest[action] = Math.min(stall, this.longest[action] ?? Infinity);
  }

  slow(): [action: string, stall: number][] {
    return Object.entries(this.longest).filter(([, stall]) => stall > MAX_STALL);
  }
}

const scrollTo = (page: Page, top: number): Promise<unknown> =>
  page.evaluate(`document.querySelector(".slot-scroller").scrollTop = ${top}`);

/**
 * Sets two globals of the page. `stalls` collects the durations of long tasks and long events in ms;
 * `mostRows` is the highest number of table rows so far.
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
