// Measures one screen of the operator's page at many widths: in the browser, with the boxes that it
// laid out. Light and dark have the same boxes: the style sheets change nothing but colours.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JSHandle, Page } from "playwright-core";
import { expectEventually, waitForFrames } from "./operator-page.ts";

const PROBE = ["layout-rules.js", "layout-probe.js"]
  .map((name) => readFileSync(join(import.meta.dir, name), "utf8"))
  .join("\n");

/** A phone, a half screen, a tablet or a page at 200 %, a laptop, and a large screen. */
export const WIDTHS = [360, 720, 1024, 1440, 1920];
const HEIGHT = 900;

/** Largest sum of the layout shifts of a view while it loads. */
export const MAX_LAYOUT_SHIFT = 0.02;

/** A rule that is broken, the element that breaks it, and a note. */
type Finding = readonly [rule: string, selector: string, note: string];

interface Probe {
  readonly measureLayout: () => Finding[];
  readonly measurePaper: () => Finding[];
  readonly startTabbing: () => void;
  readonly unreachedByTab: () => Finding[];
}

/** Adds up the layout shifts since the page was opened, from its first frame. */
export const WATCH_LAYOUT_SHIFTS = `
  globalThis.layoutShifts = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.hadRecentInput) continue;
      const nodes = entry.sources.map(({ node }) =>
        node === null ? "(removed)" : (node.parentElement?.className ?? "") + " > " +
          node.nodeName + "." + (node.className ?? ""));
      layoutShifts.push([entry.value, nodes.join(", ")]);
    }
  }).observe({ type: "layout-shift", buffered: true });`;

/** The layout shifts so far: their sum, and what moved. */
export async function readLayoutShifts(page: Page): Promise<{ sum: number; moved: string[] }> {
  const shifts = await page.evaluate<[number, string][]>("layoutShifts");
  const sum = shifts.reduce((total, [value]) => total + value, 0);
  return { sum, moved: shifts.map(([value, nodes]) => `${value.toFixed(4)}: ${nodes}`) };
}

/** Waits until nothing is loading and the browser has drawn twice. */
export async function waitUntilSettled(page: Page): Promise<void> {
  const isIdle = `document.querySelector('[aria-busy="true"], .loading') === null`;
  await expectEventually(() => page.evaluate<boolean>(isIdle), true);
  await waitForFrames(page);
}

/** The printable width of A4 paper, in pixels. */
const PAPER_WIDTH = 718;

/** What is wrong with the screen on paper, printed while it is dark. */
export async function measurePrint(page: Page): Promise<string[]> {
  await page.setViewportSize({ width: PAPER_WIDTH, height: HEIGHT });
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await page.evaluate(`dispatchEvent(new Event("beforeprint"))`);
  await waitForFrames(page);
  const probe = await page.evaluateHandle<Probe>(PROBE);
  const findings = await probe.evaluate((functions) => [
    ...functions.measureLayout(),
    ...functions.measurePaper(),
  ]);
  await probe.dispose();
  await page.emulateMedia({ media: "screen", colorScheme: "light" });
  return findings.map(([rule, selector, note]) => `on paper, ${rule}: ${selector} ${note}`);
}

/** Returns each broken rule once, with the widths at which it is broken. */
export async function measureScreen(
  page: Page,
  widths: readonly number[],
  tabWidths: readonly number[],
): Promise<string[]> {
  const probe = await page.evaluateHandle<Probe>(PROBE);
  const places = new Map<string, Set<string>>();
  const note = (findings: readonly Finding[], place: string): void => {
    for (const [rule, selector, about] of findings) {
      const key = `${rule}: ${selector}${about === "" ? "" : ` – ${withoutSizes(about)}`}`;
      places.set(key, (places.get(key) ?? new Set()).add(place));
    }
  };
  for (const width of widths) {
    await page.setViewportSize({ width, height: HEIGHT });
    await waitForFrames(page);
    const findings = await probe.evaluate((functions) => functions.measureLayout());
    note(findings, `${width}`);
    if (tabWidths.includes(width)) note(await pressTab(page, probe), `${width}`);
  }
  await page.setViewportSize({ width: 1440, height: HEIGHT });
  await probe.dispose();
  return [...places].map(([finding, where]) => `${finding} (at ${[...where].join(", ")})`);
}

/** The same finding at two widths must not be listed twice because of its measures. */
const withoutSizes = (note: string): string =>
  note.replaceAll(/ \(\d+ × \d+\)|[\d.]+(?= |$)/g, "…");

/** A screen has fewer controls than this; the parts of a date each take a press of Tab. */
const MAX_TAB_PRESSES = 600;
const PRESSES_PER_ROUND = 25;

/** Presses Tab until it was at every control. */
async function pressTab(page: Page, probe: JSHandle<Probe>): Promise<Finding[]> {
  await probe.evaluate((functions) => functions.startTabbing());
  let unreached: Finding[] = [];
  for (let pressed = 0; pressed < MAX_TAB_PRESSES; pressed += PRESSES_PER_ROUND) {
    for (let press = 0; press < PRESSES_PER_ROUND; press += 1) await page.keyboard.press("Tab");
    unreached = await probe.evaluate((functions) => functions.unreachedByTab());
    if (unreached.length === 0) break;
  }
  return unreached;
}
