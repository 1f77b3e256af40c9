// The operator's page of a real server, opened in a real browser as a person would have it before
// them. Whatever goes wrong inside is counted; what it looks like is kept.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { atEnd, check, makeTempFolder } from "../support/suite-harness.ts";
import { startBinary, type ServerProcess } from "../support/binary.ts";
import { PATIENCE } from "../support/patience.ts";
import { startChromium } from "./chromium.ts";

/** Kept after the run, for people to look at. */
const SCREENSHOT_FOLDER = join(import.meta.dir, "..", "..", "build", "out", "screenshots");

const AXE = readFileSync(Bun.fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** The rules of WCAG 2.2 AA, and what else its makers think good. */
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** A small laptop's screen, and a phone's. */
export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

/** Shown wherever a user, a product, a vendor or a host is; as text, or it would run. */
export const HOSTILE = "<img src=x onerror=alert(1)>";

let browser: Promise<Browser> | null = null;

const chromium = (): Promise<Browser> => (browser ??= startChromium({}));

export interface ServedSite extends ServerProcess {
  readonly folder: string;
}

/** A site with nothing in it, or the folder given. */
export async function serveSite(folder = join(makeTempFolder(), "site"), ...flags: string[]) {
  const words = ["--data", folder, "--listen", "127.0.0.1:0", ...flags];
  const running = await startBinary("serve", ...words);
  atEnd(() => void running.kill());
  return { ...running, folder } satisfies ServedSite;
}

/** Whether it comes to stand on the screen: a browser that has much to do shows it late. */
export const isShown = (what: Locator): Promise<boolean> =>
  what.waitFor().then(
    () => true,
    () => false,
  );

/** Whether something comes true that is asked again and again. */
export async function comesTrue(holds: () => Promise<boolean>): Promise<boolean> {
  const deadline = performance.now() + PATIENCE;
  while (!(await holds())) {
    if (performance.now() > deadline) return false;
    await Bun.sleep(50);
  }
  return true;
}

export class OperatorPage {
  readonly page: Page;
  /** Errors of scripts, refusals by the content policy, requests to anywhere else. */
  readonly pageErrors: string[] = [];

  private constructor(page: Page, origin: string) {
    this.page = page;
    page.on("pageerror", (error) => this.pageErrors.push(`error: ${error.message}`));
    page.on("console", (message) => {
      // A refusal that the page shows is no fault of its scripts.
      const refused = message.text().startsWith("Failed to load resource");
      if (message.type() === "error" && !refused) this.pageErrors.push(message.text());
    });
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(origin) && !/^(?:data|blob):/.test(url)) {
        this.pageErrors.push(`asked elsewhere: ${url}`);
      }
    });
  }

  static async open(url: string, options: BrowserContextOptions = {}): Promise<OperatorPage> {
    const started = await chromium();
    const context = await started.newContext({ locale: "en-GB", viewport: DESKTOP, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    const opened = new OperatorPage(page, new URL(url).origin);
    await page.goto(url);
    return opened;
  }

  /** Closes a new site to everybody but this tab. */
  async createToken(): Promise<void> {
    await this.page.getByRole("button", { name: "Make the token" }).click();
    await this.page.getByRole("button", { name: "I have kept it" }).click();
    await this.page.getByRole("button", { name: "Sign out" }).waitFor();
  }

  /** Kept as `build/out/screenshots/NAME.png`. */
  async saveScreenshot(name: string): Promise<void> {
    mkdirSync(SCREENSHOT_FOLDER, { recursive: true });
    await this.page.screenshot({ path: join(SCREENSHOT_FOLDER, `${name}.png`) });
  }

  /** Asked from outside again and again: inside, the content policy lets nobody evaluate texts. */
  async isEventually(expression: string): Promise<boolean> {
    return comesTrue(() => this.page.evaluate<boolean>(expression));
  }

  /** Whether a text comes by what is done. It may go again at once: the page itself looks for it. */
  async flashes(text: string, act: () => Promise<void>): Promise<boolean> {
    await this.page.evaluate(`(() => {
      globalThis.hasFlashed = false;
      new MutationObserver(() => {
        hasFlashed ||= document.body.textContent.includes(${JSON.stringify(text)});
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
    })()`);
    await act();
    return this.isEventually("hasFlashed");
  }

  /** Nothing that keeps anybody from using what is on the screen now. */
  async checkAccessibility(what: string): Promise<void> {
    await this.page.evaluate(AXE);
    const found = await this.page.evaluate<unknown[]>(
      `axe.run(document, { runOnly: ${JSON.stringify(RULES)} }).then(({ violations }) =>
        violations.map(({ id, help, nodes }) => [id, help, nodes.map(({ html, any }) => [html, any.map(({ message }) => message)])]))`,
    );
    check(`${what}: usable by everybody, as far as axe can tell`, found.length === 0, found);
  }

  /** On a desk and in a hand, in light and in dark: usable, and never wider than the screen. */
  async checkLayouts(name: string): Promise<void> {
    for (const [size, viewport] of Object.entries({ desk: DESKTOP, phone: PHONE })) {
      await this.page.setViewportSize(viewport);
      for (const colorScheme of ["light", "dark"] as const) {
        await this.page.emulateMedia({ colorScheme });
        await this.checkAccessibility(`${name}, ${size}, ${colorScheme}`);
        await this.saveScreenshot(`${name}-${size}-${colorScheme}`);
      }
      const wide = await this.page.evaluate<number>("document.documentElement.scrollWidth");
      check(`${name}, ${size}: no wider than the screen`, wide <= viewport.width, wide);
    }
    await this.page.setViewportSize(DESKTOP);
    await this.page.emulateMedia({ colorScheme: "light" });
  }

  /** At the end of a walk. */
  checkNoErrors(what: string): void {
    check(
      `${what}: no script failed, and nothing was asked elsewhere`,
      this.pageErrors.length === 0,
      this.pageErrors,
    );
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}
