// The Reports view on a site with a month of simulated life: it answers who was turned away and why,
// how many slots are needed, who holds a slot without using it, and what to send the vendor, with the
// figures of the API.
import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import type { ReportReply } from "../../src/http/routes/usage/report-schema.ts";
import type { StatusReply } from "../../src/http/routes/health/status-schema.ts";
import type { WhatIfReply } from "../../src/http/routes/usage/what-if.ts";
import type { VendorStatementsReply } from "../../src/http/routes/statements/statements.ts";
import type { UsageReply } from "../../src/http/routes/usage/usage.ts";
import { signAcknowledgement } from "../../src/license/documents/acknowledgement.ts";
import { makeTempFolder } from "../support/suite-harness.ts";
import { IDLE_USERS, writeSimulatedMonth } from "../support/simulated-month.ts";
import { VENDOR } from "../support/vendor.ts";
import { dropFile } from "./vendor-desk.ts";
import {
  createToken,
  expectEventually,
  openSignedIn,
  PHONE,
  serveSite,
  type OperatorPage,
  type ServedSite,
} from "./operator-page.ts";

let site: ServedSite;
let token: string;

beforeAll(async () => {
  const folder = join(makeTempFolder(), "site");
  await writeSimulatedMonth({ folder });
  await endOldEpisodes(folder);
  site = await serveSite(folder);
  token = await createToken(site);
});

/**
 * Episodes of the time before a start end with the first change after it, and are written within a
 * minute or at the stop. The figures of the month must not change between the page and the API.
 */
async function endOldEpisodes(folder: string): Promise<void> {
  const served = await serveSite(folder);
  const heartbeat = { product: "CAD", user: IDLE_USERS[0] };
  const reply = await fetch(new URL("/api/v4/register", served.url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(heartbeat),
  });
  expect(reply.status).toBe(200);
  await served.stop();
}

test("the simulated month has no open episodes", async () => {
  const { pools } = await readReport(IN_WEEKS);
  expect(pools.map((pool) => pool.open_episodes)).toEqual(pools.map(() => 0));
});

const DAY = 86_400_000;
/** One time for all days: a new day may begin during the tests. */
const NOW = Date.now();
/** The zone of the reader: not the one of the server. */
const READER = { timezoneId: "Asia/Tokyo", offset: 9 * 3_600_000 };

const open = (path: string): Promise<OperatorPage> =>
  openSignedIn(site, token, path, { timezoneId: READER.timezoneId });

type Parameters = Readonly<Record<string, string>>;

async function readApi<T>(path: string, query: Parameters = {}): Promise<T> {
  const url = new URL(`/api/admin/v1/${path}?${new URLSearchParams(query).toString()}`, site.url);
  const reply = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  if (!reply.ok) throw new Error(await reply.text());
  return (await reply.json()) as T;
}

const readReport = (query: Parameters): Promise<ReportReply> =>
  readApi("report", { time_zone: READER.timezoneId, ...query });

const dayBefore = (days: number): string =>
  new Date(NOW + READER.offset - days * DAY).toISOString().slice(0, "2026-11-10".length);

const startOf = (day: string): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) - READER.offset).toISOString();

/** Four weeks until yesterday. A range that ends now would be another one for the API. */
const WEEKS = `from=${dayBefore(28)}/to=${dayBefore(1)}`;
const IN_WEEKS = { from: startOf(dayBefore(28)), to: startOf(dayBefore(0)) };

const readDay = (
  day: string,
  query: Readonly<Record<string, string>> = {},
): Promise<ReportReply> => {
  const from = Date.parse(`${day}T00:00:00Z`) - READER.offset;
  const [start, end] = [from, from + DAY].map((time) => new Date(time).toISOString());
  return readReport({ ...query, from: start ?? "", to: end ?? "" });
};

/**
 * A day of the reader on which users were turned away: not every day has one. Other days of denials
 * come before it and after it.
 */
async function findDayOfDenials(product?: string): Promise<string> {
  for (let days = 8; days <= 21; days += 1) {
    const day = dayBefore(days);
    const { episodes } = await readDay(day, product === undefined ? {} : { product });
    if (episodes.length > 0) return day;
  }
  throw new Error("the simulated month has no denied episodes");
}

const table = (page: Page, name: string | RegExp): Locator =>
  page.getByRole("region", { name, exact: typeof name === "string" });

const cellsOf = async (row: Locator): Promise<string[]> =>
  (await row.locator("th, td").allInnerTexts()).map((text) => text.trim());

interface SavedFile {
  readonly name: string;
  readonly text: string;
}

/** Presses a button that saves a file. */
async function saveFile(page: Page, button: string): Promise<SavedFile> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: button, exact: true }).click(),
  ]);
  return {
    name: download.suggestedFilename(),
    text: readFileSync(await download.path(), "utf8"),
  };
}

async function saveCsv(page: Page, table: string): Promise<string[][]> {
  const { name, text } = await saveFile(page, `Save as CSV: ${table}`);
  expect(name).toMatch(/^berth-[a-z0-9-]+-\d{4}-\d\d-\d\d\.csv$/);
  return text
    .trimEnd()
    .split("\r\n")
    .map((line) => line.split(","));
}

describe("the table of products and features", () => {
  test("has the figures of the API, with the most denied episodes first", async () => {
    const { page } = await open(`#/reports/${WEEKS}`);
    const rows = table(page, "Products and features").locator("tbody tr");
    await rows.first().waitFor();
    const { pools } = await readReport(IN_WEEKS);
    const expected = pools
      .toSorted((a, b) => b.episodes - a.episodes)
      .map(({ product, feature, peak, episodes }) => [
        feature === null ? product : `${product}, feature ${feature}`,
        String(peak),
        String(episodes),
      ]);
    expect(expected.length).toBe(4);
    const shown = await Promise.all((await rows.all()).map(cellsOf));
    expect(shown.map((cells) => [cells[0], cells[3], cells.at(-1)])).toEqual(expected);
  });

  test("leads to the report of a feature, and back", async () => {
    const { page } = await open("#/reports/range=week");
    await page.getByRole("link", { name: "CAE, feature MESH" }).click();
    await page.getByRole("heading", { name: "CAE, feature MESH", level: 2 }).waitFor();
    expect(new URL(page.url()).hash).toBe("#/reports/CAE/MESH/range=week");
    await page.getByRole("link", { name: "CAE", exact: true }).click();
    await page.getByRole("heading", { name: "CAE", exact: true, level: 2 }).waitFor();
    await page.getByRole("link", { name: "All products" }).click();
    await page.getByRole("heading", { name: "Reports", level: 2 }).waitFor();
  });
});

describe("denied episodes", () => {
  test("of a chosen day say who was turned away, from what and why", async () => {
    const day = await findDayOfDenials();
    const { page } = await open("#/reports");
    const bars = page.getByRole("group", { name: "Denied episodes by day" });
    const name = new Intl.DateTimeFormat("en-GB", {
      weekday: "short",
      day: "numeric",
      month: "short",
      timeZone: "UTC",
    }).format(Date.parse(day));
    await bars
      .getByRole("button", { name: new RegExp(`^${name}: \\d+ denied episodes?$`) })
      .click();
    expect(new URL(page.url()).hash).toBe(`#/reports/day=${day}`);
    const rows = table(page, `Denied episodes on ${name}`).locator("tbody tr");
    await rows.first().waitFor();
    const { episodes } = await readDay(day);
    expect(episodes.length).toBeGreaterThan(0);
    const shown = await Promise.all((await rows.all()).map(cellsOf));
    expect(shown.map(([person, pool, reason]) => [person, pool, reason])).toEqual(
      episodes
        .slice(0, 50)
        .map(({ person, product, feature }) => [
          person,
          feature === null ? product : `${product}, feature ${feature}`,
          "no free slot",
        ]),
    );
    await page.getByLabel("Day", { exact: true }).selectOption({ label: "All days" });
    await expectEventually(() => new URL(page.url()).hash, "#/reports");
  });

  test("of a feature are not those of its product", async () => {
    const { episodes } = await readReport({ ...IN_WEEKS, product: "CAE", feature: "MESH" });
    expect(episodes.length).toBeGreaterThan(0);
    const { page } = await open(`#/reports/CAE/${WEEKS}`);
    await page.getByText("No one was turned away in this period.").waitFor();
    await page.goto(new URL(`#/reports/CAE/MESH/${WEEKS}`, site.url).href);
    await page.getByText(`${episodes.length} denied episodes of`).waitFor();
  });

  test("are saved as CSV with every row", async () => {
    const { page } = await open(`#/reports/CAD/${WEEKS}`);
    await page.getByText(/^\d+ denied episodes of/).waitFor();
    const { episodes } = await readReport({ ...IN_WEEKS, product: "CAD" });
    const [titles, ...rows] = await saveCsv(page, "Denied episodes");
    expect(titles).toEqual([
      "Person",
      "Reason",
      "First refused",
      "Last refused",
      "Attempts",
      "Waited (seconds)",
      "Outcome",
    ]);
    expect(rows.length).toBe(episodes.length);
    const newest = episodes.at(-1);
    const outcomes = { granted: "got a slot", gave_up: "gave up", left: "left" };
    expect(rows[0]?.slice(4)).toEqual([
      String(newest?.attempts),
      String(newest?.waited_seconds),
      outcomes[newest?.outcome ?? "left"],
    ]);
  });
});

describe("the report of a product", () => {
  test("has the figures, the busy hours and the people of the API", async () => {
    const { page } = await open(`#/reports/CAD/${WEEKS}`);
    const report = await readReport({ ...IN_WEEKS, product: "CAD" });
    const pool = report.pools.find(({ feature }) => feature === null);
    await page.getByText("Busy hours").waitFor();
    const figure = (name: string): Promise<string> =>
      page
        .locator(".figures-card .facts > div")
        .filter({ hasText: name })
        .locator("dd")
        .innerText();
    expect(await figure("p99")).toBe(String(pool?.p99));
    expect(await figure("Peak")).toBe(String(pool?.peak));
    expect(await figure("People")).toBe(String(pool?.people));
    await page.getByRole("button", { name: "Peak", exact: true }).click();
    const monday = table(page, "Peak slots in use by weekday and hour")
      .getByRole("row", { name: /^Mon/ })
      .getByRole("cell");
    expect((await monday.allInnerTexts()).map(Number)).toEqual(
      (pool?.heat_map.peak[0] ?? []).map(Number),
    );
    const people = table(page, "People by slot hours").locator("tbody tr");
    expect((await cellsOf(people.first()))[0]).toBe(report.people[0]?.person ?? "");
  });

  test("of days from – to has those days only, and keeps them in the address", async () => {
    const day = await findDayOfDenials("CAD");
    const { page } = await open("#/reports/CAD");
    await page.getByRole("button", { name: "From – to" }).click();
    await page.getByLabel("From", { exact: true }).fill(day);
    await page.getByLabel("To", { exact: true }).fill(day);
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await expectEventually(() => new URL(page.url()).hash, `#/reports/CAD/from=${day}/to=${day}`);
    const { episodes } = await readDay(day, { product: "CAD" });
    await page.getByText(new RegExp(`^${episodes.length} denied episodes? of`)).waitFor();
    await page.reload();
    await page.getByText(new RegExp(`^${episodes.length} denied episodes? of`)).waitFor();
  });

  test("that was never licensed says so", async () => {
    const { page } = await open("#/reports/NOTHING");
    await page.getByRole("alert").waitFor();
    await page.getByRole("button", { name: "Try again" }).waitFor();
  });
});

describe("idle holders", () => {
  test("are listed with the way to their slots", async () => {
    const { page } = await open("#/reports");
    const rows = table(page, "Idle holders").locator("tbody tr");
    await rows.first().waitFor();
    const shown = await Promise.all((await rows.all()).map(cellsOf));
    expect(new Set(shown.map(([person]) => person))).toEqual(new Set(IDLE_USERS));
    await page.getByRole("link", { name: "Show the slot of kiosk-lab for CAD" }).click();
    await page.locator(".slot-body").getByText("kiosk-lab").first().waitFor();
    expect(await page.locator(".slot-body .slot-row").count()).toBe(1);
  });

  test("can be released by an administrator, but not by a viewer", async () => {
    const viewer = await createToken(site, "reader", "viewer");
    const reader = await openSignedIn(site, viewer, "#/reports");
    await table(reader.page, "Idle holders").getByText("kiosk-lobby").waitFor();
    expect(await reader.page.getByRole("button", { name: /^Release/ }).count()).toBe(0);
    const { page } = await open("#/reports");
    await page.getByRole("button", { name: "Release the slot of kiosk-lobby for CAD" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Release" }).click();
    await page.getByText("The slot of kiosk-lobby for CAD was released.").waitFor();
    await expectEventually(() => table(page, "Idle holders").getByText("kiosk-lobby").count(), 0);
    await table(page, "Idle holders").getByText("kiosk-lab").waitFor();
  });
});

describe("the chart of use over time", () => {
  /** The pixels of both charts as texts. */
  const chartImages = (page: Page): Promise<string[]> =>
    page.evaluate<string[]>(
      `[...document.querySelectorAll(".chart canvas")].map((canvas) => canvas.toDataURL())`,
    );

  async function openChart(): Promise<{ page: Page; plot: Locator }> {
    const { page } = await open(`#/reports/SIM/${WEEKS}`);
    const plot = page.getByRole("img", { name: /^Slots in use over .* to .*, peak \d/ });
    await plot.locator(".u-over").scrollIntoViewIfNeeded();
    return { page, plot };
  }

  const boxOf = async (plot: Locator) =>
    (await plot.locator(".u-over").boundingBox()) ?? { x: 0, y: 0, width: 0 };

  test("has the limit of its time before and after a renewal", async () => {
    const { page, plot } = await openChart();
    const { x, y, width } = await boxOf(plot);
    const tooltip = page.locator(".chart-tooltip");
    await page.mouse.move(x + width * 0.1, y + 20);
    await tooltip.getByText("Limit 4").waitFor();
    await page.mouse.move(x + width * 0.9, y + 20);
    await tooltip.getByText("Limit 6").waitFor();
    await page.mouse.move(0, 0);
    await tooltip.waitFor({ state: "detached" });
  });

  test("zooms with the pointer and by a button, and shows all again", async () => {
    const { page, plot } = await openChart();
    const whole = await chartImages(page);
    expect(whole.length).toBe(2);
    const { x, y, width } = await boxOf(plot);
    await page.mouse.move(x + width * 0.3, y + 30);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.6, y + 30, { steps: 4 });
    await page.mouse.up();
    await page.mouse.move(0, 0);
    await expectEventually(
      async () => (await chartImages(page)).map((image, index) => image !== whole[index]),
      [true, true],
    );
    await page.getByRole("button", { name: "Reset zoom" }).click();
    await expectEventually(async () => Bun.deepEquals(await chartImages(page), whole), true);
    await page.getByRole("button", { name: "Zoom in" }).focus();
    await page.keyboard.press("Enter");
    await expectEventually(async () => Bun.deepEquals(await chartImages(page), whole), false);
  });

  test("has the values of the API as a table and as CSV, the newest first", async () => {
    const { page } = await openChart();
    const { pools } = await readApi<UsageReply>("usage", { ...IN_WEEKS, product: "SIM" });
    await page.getByText("Show as table").click();
    await table(page, "Use over time").locator("tbody tr").first().waitFor();
    const [titles, ...rows] = await saveCsv(page, "Use over time");
    expect(titles?.slice(0, 4)).toEqual(["Time", "Limit", "Peak", "Mean"]);
    const [pool] = pools;
    expect(rows.length).toBe(pool?.peak.length ?? 0);
    const expected = (pool?.peak ?? []).map((peak, step) =>
      [pool?.limit[step] ?? null, peak].map((value) => String(value ?? "")),
    );
    expect(rows.map((row) => [row[1] ?? "", row[2] ?? ""])).toEqual(expected.toReversed());
  });
});

test("the report of a product says how many slots meet 99 % of the needs at once", async () => {
  const { page } = await open(`#/reports/CAD/${WEEKS}`);
  const answer = page.locator(".answer");
  await answer.waitFor();
  const slots = Number(/: (\d+) slots\.$/.exec(await answer.innerText())?.[1]);
  const [first, last] = [
    Number(await page.getByLabel("Slots from").inputValue()),
    Number(await page.getByLabel("Slots to").inputValue()),
  ];
  const wanted = { ...IN_WEEKS, product: "CAD", slots: `${first}..${last}` };
  const whatIf = await readApi<WhatIfReply>("report/what-if", wanted);
  expect(slots).toBe(whatIf.target_slots ?? 0);
  const rows = table(page, "Needs met by number of slots").locator("tbody tr");
  const cells = await cellsOf(rows.nth(slots - first));
  expect(cells[1]).toBe(String(whatIf.rows[slots - first]?.met_at_once));
  await page.getByText("What the estimate assumes").click();
  await page.getByText("would have stayed a mean session").waitFor();
  const { refusals } = whatIf.check;
  await page.getByText(`${refusals} of ${refusals} refusals`).waitFor();
  await page.getByLabel("Needs met at once").selectOption("90 %");
  await page.locator(".answer").filter({ hasText: "For 90 % of needs met at once" }).waitFor();
});

test("the reports make a statement for the vendor, and take the vendor's acknowledgement", async () => {
  const { page } = await open("#/reports");
  const { name, text } = await saveFile(page, "Make the next statement for Initrode");
  expect(name).toBe("usage-initrode-1.jwt");
  await page.getByText("Statement 1 was made and saved").waitFor();
  const statements = table(page, "Statements for Initrode");
  await statements.getByText("not acknowledged yet").waitFor();
  expect((await saveFile(page, "Download statement 1 for Initrode")).text).toBe(text);
  await dropFile(page, await acknowledge(text), "ack.jwt");
  await page.getByText("The vendor has acknowledged statement 1.").waitFor();
  await statements.getByText("acknowledged by the vendor").waitFor();
  const [vendor] = await readApi<VendorStatementsReply[]>("statements");
  expect(vendor?.acknowledged_number).toBe(1);
});

/** What the vendor's desk answers to the first statement. */
async function acknowledge(statement: string): Promise<string> {
  const { appliance } = await readApi<StatusReply>("status");
  const digest = new Bun.CryptoHasher("sha256").update(statement).digest("hex");
  const iat = Math.floor(Date.now() / 1_000);
  const fields = { iss: VENDOR.id, appliance: appliance.id, n: 1, digest, iat };
  return signAcknowledgement(fields, VENDOR.issuing);
}

test("the reports fit on a phone, light and dark, and axe finds nothing", async () => {
  const opened = await open("#/reports");
  await opened.page.getByText(/denied episodes of/).waitFor();
  await opened.checkLayouts("reports");
  await opened.page.goto(new URL("#/reports/CAD", site.url).href);
  await opened.page.getByText("Busy hours").waitFor();
  await opened.checkLayouts("report-of-a-product");
  await opened.page.setViewportSize(PHONE);
});

test("a new site has nothing to report, and leads to the licenses", async () => {
  const empty = await serveSite();
  const opened = await openSignedIn(empty, await createToken(empty), "#/reports");
  await opened.page.getByRole("heading", { name: "Nothing to report yet" }).waitFor();
  await opened.page.getByRole("link", { name: "Add a license" }).click();
  await opened.page.getByRole("heading", { name: "Licenses", level: 2 }).waitFor();
});
