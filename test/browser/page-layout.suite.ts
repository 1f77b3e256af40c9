// Every screen of the page at every usual width, light and dark, with one license and with 25
// licenses and 10,000 slots: nothing overlaps, is cut off or leaves the screen, nothing moves while
// it loads, Tab reaches every control, and axe finds nothing.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { makeTempFolder } from "../support/suite-harness.ts";
import { createLargeSite } from "./large-site.ts";
import {
  MAX_LAYOUT_SHIFT,
  measurePrint,
  measureScreen,
  readLayoutShifts,
  waitUntilSettled,
  WATCH_LAYOUT_SHIFTS,
  WIDTHS,
} from "./layout-check.ts";
import { SCREENS, type Screen } from "./layout-screens.ts";
import { createToken, OperatorPage, serveSite, type ServedSite } from "./operator-page.ts";

const SITES = {
  "1 license": { licenses: 1, slots: 8 },
  "25 licenses and 10,000 slots": { licenses: 25, slots: 10_000 },
} as const;

const report: { site: string; screen: string; findings: number; shift: string }[] = [];

afterAll(() => console.table(report));

describe.each(Object.entries(SITES))("the page of a site with %s", (name, size) => {
  let site: ServedSite;
  let token: string;

  beforeAll(async () => {
    const folder = join(makeTempFolder(), "site");
    await createLargeSite(folder, size);
    site = await serveSite(folder);
    token = await createToken(site);
  });

  test.each(SCREENS.map((screen) => [screen.name, screen] as const))(
    "shows all of the screen “%s” at every width",
    async (_name, screen) => {
      const opened = await openScreen(site, token, screen);
      const { page } = opened;
      const { sum, moved } = await readLayoutShifts(page);
      await screen.act?.(page);
      await opened.checkAccessibility(`${screen.name}, light`);
      const widths = [...WIDTHS, ...(screen.widths ?? [])];
      const findings = await measureScreen(page, widths, screen.hasOtherControls !== false);
      await page.setViewportSize({ width: 360, height: 900 });
      await page.emulateMedia({ colorScheme: "dark" });
      await opened.checkAccessibility(`${screen.name}, dark, narrow`);
      if (screen.act === undefined) findings.push(...(await measurePrint(page)));
      report.push({
        site: name,
        screen: screen.name,
        findings: findings.length,
        shift: sum.toFixed(4),
      });
      expect(findings).toEqual([]);
      expect(sum, moved.join("\n")).toBeLessThan(MAX_LAYOUT_SHIFT);
    },
  );
});

/** Opens the screen as a bookmark does: from an empty tab, signed in. */
async function openScreen(site: ServedSite, token: string, screen: Screen): Promise<OperatorPage> {
  const opened = await OperatorPage.open(new URL("/", site.url).href);
  const { page } = opened;
  await page.addInitScript(WATCH_LAYOUT_SHIFTS);
  await page.setViewportSize({ width: 1440, height: 900 });
  await opened.signIn(token);
  await opened.waitUntilSignedIn();
  await page.goto("about:blank");
  await page.goto(new URL(screen.path, site.url).href);
  await screen.ready(page).first().waitFor();
  await waitUntilSettled(page);
  return opened;
}
