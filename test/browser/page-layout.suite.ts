// Every screen of the page at every usual width, on a new site, with one license and with many
// licenses and slots: nothing overlaps, is cut off or leaves the screen, nothing moves while it
// loads, Tab reaches every control, and axe finds nothing, light and dark.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { chooseSize, makeTempFolder } from "../support/suite-harness.ts";
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
import { NEW_SITE_SCREENS, SCREENS, type Screen } from "./layout-screens.ts";
import { closeDialog } from "./layout-states.ts";
import { createToken, OperatorPage, serveSite, type ServedSite } from "./operator-page.ts";

const SITES = {
  "1 license": { licenses: 1, slots: 8 },
  // A long list has the same rows however long it is: only those on the screen are in the DOM.
  "25 licenses and many slots": { licenses: 25, slots: chooseSize(1_000, 10_000) },
};

const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 360, height: 900 };
const SOME_WIDTHS = [NARROW.width, WIDE.width];

const report: { site: string; screen: string; findings: number; shift: string }[] = [];

afterAll(() => console.table(report));

describe.each(Object.entries(SITES))("the page of a site with %s", (name, size) => {
  let site: ServedSite;
  let session: string;
  const screens = SCREENS.filter((screen) => screen.isSameEverywhere !== true || size.licenses > 1);

  beforeAll(async () => {
    const folder = join(makeTempFolder(), "site");
    await createLargeSite(folder, size);
    site = await serveSite(folder);
    session = await prepareSession(site);
  });

  test.each(screens.map((screen) => [screen.name, screen] as const))(
    "shows all of the screen “%s” at every width",
    (_name, screen) => checkScreen(site, name, screen, session, size.licenses > 1),
  );
});

describe("the page of a new site", () => {
  let site: ServedSite;

  beforeAll(async () => {
    site = await serveSite();
  });

  test.each(NEW_SITE_SCREENS.map((screen) => [screen.name, screen] as const))(
    "shows all of the screen “%s” at every width",
    (_name, screen) => checkScreen(site, "new", screen, ""),
  );
});

/**
 * `hasLongTexts`: the dialogs and steps of the screen are checked at every width and in both themes.
 * Those of a site with short texts are the same, and they fit where long ones do.
 */
async function checkScreen(
  site: ServedSite,
  siteName: string,
  screen: Screen,
  session: string,
  hasLongTexts = true,
): Promise<void> {
  const opened = await openScreen(site, screen, session);
  const { page } = opened;
  const { sum, moved } = await readLayoutShifts(page);
  const allWidths = [...WIDTHS, ...(screen.widths ?? [])];
  const check = async (
    name: string,
    isFull: boolean,
    tabWidths: readonly number[],
  ): Promise<string[]> => {
    await opened.checkAccessibility(`${name}, light`);
    const findings = await measureScreen(page, isFull ? allWidths : SOME_WIDTHS, tabWidths);
    if (isFull) {
      await page.setViewportSize(NARROW);
      await page.emulateMedia({ colorScheme: "dark" });
      await opened.checkAccessibility(`${name}, dark, narrow`);
    }
    return findings.map((finding) => `${name}: ${finding}`);
  };
  const tabWidths = screen.hasOtherControls === false ? [] : SOME_WIDTHS;
  const findings = await check(screen.name, true, tabWidths);
  findings.push(...(await measurePrint(page)));
  for (const state of screen.states ?? []) {
    await page.setViewportSize(WIDE);
    await page.emulateMedia({ colorScheme: "light" });
    if (state.isWithinDialog !== true) await closeDialog(page);
    await state.open(page);
    await waitUntilSettled(page);
    const name = `${screen.name}, ${state.name}`;
    findings.push(...(await check(name, hasLongTexts, hasLongTexts ? [WIDE.width] : [])));
  }
  await closeDialog(page);
  report.push({
    site: siteName,
    screen: screen.name,
    findings: findings.length,
    shift: sum.toFixed(4),
  });
  expect(findings).toEqual([]);
  expect(sum, moved.join("\n")).toBeLessThan(MAX_LAYOUT_SHIFT);
}

/** Opens the screen as a bookmark does: in an empty tab, signed in if the screen needs it. */
async function openScreen(
  site: ServedSite,
  screen: Screen,
  session: string,
): Promise<OperatorPage> {
  const signIn = `sessionStorage.setItem("berth-session", ${JSON.stringify(session)});`;
  const opened = await OperatorPage.open(new URL(screen.path, site.url).href, { viewport: WIDE }, [
    WATCH_LAYOUT_SHIFTS,
    ...(screen.isSignedIn === false ? [] : [signIn]),
  ]);
  await screen.ready(opened.page).first().waitFor();
  await waitUntilSettled(opened.page);
  return opened;
}

/** A session as the page stores it: signing in anew for every screen takes longer. */
async function prepareSession(site: ServedSite): Promise<string> {
  const { session } = (await post(site, await createToken(site), "/api/admin/v1/sessions")) as {
    readonly session: { readonly token: string };
  };
  // The list of licenses has an open request, also if this screen alone is checked.
  await post(site, session.token, "/api/v4/license/generate", {
    product: "CAD",
    note: "W".repeat(500),
  });
  return JSON.stringify(session);
}

async function post(
  { url }: ServedSite,
  token: string,
  path: string,
  body: object = {},
): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const reply = await fetch(new URL(path, url), {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  if (!reply.ok) throw new Error(await reply.text());
  return reply.json();
}
