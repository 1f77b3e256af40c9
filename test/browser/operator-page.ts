// The operator's page of a real server in a real browser. Script errors and requests to other
// origins are collected; screenshots are saved.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { atEnd, check, makeTempFolder } from "../support/suite-harness.ts";
import { startBinary, type ServerProcess } from "../support/binary.ts";
import { PATIENCE } from "../support/patience.ts";
import { startChromium } from "./chromium.ts";

/** Not removed after the run: the screenshots are for people. */
const SCREENSHOT_FOLDER = join(import.meta.dir, "..", "..", "build", "out", "screenshots");

const AXE = readFileSync(Bun.fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** The rules of WCAG 2.2 AA, and the best practices that axe adds. */
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** The screens of a small laptop and of a phone. */
export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

/** Used as user, product, vendor and host: the page must show it as text, never run it. */
export const HOSTILE = "<img src=x onerror=alert(1)>";

let browser: Promise<Browser> | null = null;

const chromium = (): Promise<Browser> => (browser ??= startChromium({}));

export interface ServedSite extends ServerProcess {
  readonly folder: string;
}

/** Serves a new empty site, or the given data folder. */
export async function serveSite(folder = join(makeTempFolder(), "site"), ...flags: string[]) {
  const args = ["--data", folder, "--listen", "127.0.0.1:0", ...flags];
  const running = await startBinary("serve", ...args);
  atEnd(() => void running.kill());
  return { ...running, folder } satisfies ServedSite;
}

/** Waits until the element is visible: on a busy machine that takes a while. */
export const isShown = (element: Locator): Promise<boolean> =>
  element.waitFor().then(
    () => true,
    () => false,
  );

/** Tries a condition again and again until it holds; false: it never did. */
export async function isEventuallyTrue(holds: () => Promise<boolean>): Promise<boolean> {
  const deadline = performance.now() + PATIENCE;
  while (!(await holds())) {
    if (performance.now() > deadline) return false;
    await Bun.sleep(50);
  }
  return true;
}

export class OperatorPage {
  readonly page: Page;
  /** Script errors, violations of the content security policy, and requests to other origins. */
  readonly pageErrors: string[] = [];

  private constructor(page: Page, origin: string) {
    this.page = page;
    page.on("pageerror", (error) => this.pageErrors.push(`error: ${error.message}`));
    page.on("console", (message) => {
      // The browser logs every refused request as an error. It is not an error of a script.
      const isRefusal = message.text().startsWith("Failed to load resource");
      if (message.type() === "error" && !isRefusal) this.pageErrors.push(message.text());
    });
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(origin) && !/^(?:data|blob):/.test(url)) {
        this.pageErrors.push(`request to another origin: ${url}`);
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

  /** Creates the first admin token of a new site; only this tab knows it. */
  async createToken(): Promise<void> {
    await this.page.getByRole("button", { name: "Create the admin token" }).click();
    await this.page.getByRole("button", { name: "I have saved it" }).click();
    await this.page.getByRole("button", { name: "Sign out" }).waitFor();
  }

  /** Saves `build/out/screenshots/NAME.png`. */
  async saveScreenshot(name: string): Promise<void> {
    mkdirSync(SCREENSHOT_FOLDER, { recursive: true });
    await this.page.screenshot({ path: join(SCREENSHOT_FOLDER, `${name}.png`) });
  }

  /** Polls from outside: inside, the content security policy forbids evaluating a text. */
  async isEventually(expression: string): Promise<boolean> {
    return isEventuallyTrue(() => this.page.evaluate<boolean>(expression));
  }

  /** Whether an action shows a text, however briefly: an observer in the page watches for it. */
  async showsBriefly(text: string, act: () => Promise<void>): Promise<boolean> {
    await this.page.evaluate(`(() => {
      globalThis.wasShown = false;
      new MutationObserver(() => {
        wasShown ||= document.body.textContent.includes(${JSON.stringify(text)});
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
    })()`);
    await act();
    return this.isEventually("wasShown");
  }

  /** Checks the current screen with axe. */
  async checkAccessibility(screen: string): Promise<void> {
    await this.page.evaluate(AXE);
    const violations = await this.page.evaluate<unknown[]>(
      `axe.run(document, { runOnly: ${JSON.stringify(RULES)} }).then(({ violations }) =>
        violations.map(({ id, help, nodes }) => [id, help, nodes.map(({ html, any }) => [html, any.map(({ message }) => message)])]))`,
    );
    check(`axe finds no accessibility violation: ${screen}`, violations.length === 0, violations);
  }

  /** Checks desktop and phone, light and dark: accessible, and never wider than the screen. */
  async checkLayouts(name: string): Promise<void> {
    for (const [size, viewport] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
      await this.page.setViewportSize(viewport);
      for (const colorScheme of ["light", "dark"] as const) {
        await this.page.emulateMedia({ colorScheme });
        await this.checkAccessibility(`${name}, ${size}, ${colorScheme}`);
        await this.saveScreenshot(`${name}-${size}-${colorScheme}`);
      }
      const width = await this.page.evaluate<number>("document.documentElement.scrollWidth");
      check(
        `the page is no wider than the screen: ${name}, ${size}`,
        width <= viewport.width,
        width,
      );
    }
    await this.page.setViewportSize(DESKTOP);
    await this.page.emulateMedia({ colorScheme: "light" });
  }

  /** For the end of a scenario. */
  checkNoErrors(scenario: string): void {
    check(
      `no script of the page fails or sends a request to another origin: ${scenario}`,
      this.pageErrors.length === 0,
      this.pageErrors,
    );
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}
