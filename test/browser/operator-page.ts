// The operator's page of a real server in a real browser. Problems that a
// user would not stop at (script errors, requests to other origins, accessibility violations) are
// collected, and fail the test at its end.
import { expect, onTestFinished } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { atEnd, makeTempFolder } from "../support/suite-harness.ts";
import { startBinary, type ServerProcess } from "../support/binary.ts";
import { isEventuallyTrue } from "../support/wait-until.ts";
import { openPage } from "./chromium.ts";

/** `SCREENSHOTS=FOLDER bun run test:browser` saves a picture of each screen there, for people. */
const SCREENSHOT_FOLDER = process.env["SCREENSHOTS"];

const AXE = readFileSync(Bun.fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** The rules of WCAG 2.2 AA, and the best practices that axe adds. */
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
/** Those of them that read colours: only these can differ between light and dark. */
const COLOUR_RULES = ["color-contrast", "link-in-text-block"];

/** The screens of a small laptop and of a phone. */
const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

/** Used as user, product, vendor and host: the page must show it as text, never run it. */
export const HOSTILE = "<img src=x onerror=alert(1)>";

export interface ServedSite extends ServerProcess {
  readonly folder: string;
}

/** Serves a new empty site, or the given data folder. */
export async function serveSite(
  folder = join(makeTempFolder(), "site"),
  ...flags: string[]
): Promise<ServedSite> {
  const args = ["--data", folder, "--listen", "127.0.0.1:0", ...flags];
  const running = await startBinary("serve", ...args);
  atEnd(() => void running.kill());
  return { ...running, folder };
}

/** Creates an admin token, as an operator on the machine. */
export async function createToken(
  { folder }: Pick<ServedSite, "folder">,
  name = "suite",
  role: "admin" | "viewer" = "admin",
): Promise<string> {
  const answer = await fetch("http://berth/api/admin/v1/access/tokens", {
    unix: join(folder, "berth.sock"),
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name, role }),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return ((await answer.json()) as { readonly token: string }).token;
}

/** Until the browser has drawn twice. */
export const waitForFrames = (page: Page): Promise<void> =>
  page.evaluate(
    "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))",
  );

/** Reads again and again until the value is the expected one. */
export async function expectEventually<Value>(
  read: () => Value | Promise<Value>,
  expected: Value,
): Promise<void> {
  let value: unknown = null;
  await isEventuallyTrue(
    async () => {
      value = await read();
      return Bun.deepEquals(value, expected);
    },
    { maxPause: 50 },
  );
  expect(value).toEqual(expected);
}

export class OperatorPage {
  readonly page: Page;
  /** What fails the test at its end. */
  readonly #problems: string[] = [];

  private constructor(page: Page, origin: string) {
    this.page = page;
    page.on("pageerror", (error) => this.#problems.push(`script error: ${error.message}`));
    page.on("console", (message) => {
      // The browser logs every refused request as an error. It is not an error of a script.
      const isRefusal = message.text().startsWith("Failed to load resource");
      if (message.type() === "error" && !isRefusal) this.#problems.push(message.text());
    });
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(origin) && !/^(?:data|blob):/.test(url)) {
        this.#problems.push(`request to another origin: ${url}`);
      }
    });
  }

  /**
   * Opens a page in a new browser profile, and closes it at the end of the test. The scripts run
   * before those of every page that is opened.
   */
  static async open(
    url: string,
    options: BrowserContextOptions = {},
    scripts: readonly string[] = [],
  ): Promise<OperatorPage> {
    const opened = await OperatorPage.openUntilClosed(url, options, scripts);
    onTestFinished(async () => {
      await opened.close();
      expect(opened.#problems).toEqual([]);
    });
    return opened;
  }

  /** For scripts that are no tests. */
  static async openUntilClosed(
    url: string,
    options: BrowserContextOptions,
    scripts: readonly string[] = [],
  ): Promise<OperatorPage> {
    const page = await openPage({ locale: "en-GB", viewport: DESKTOP, ...options });
    const opened = new OperatorPage(page, new URL(url).origin);
    for (const script of scripts) await page.addInitScript(script);
    await page.goto(url);
    return opened;
  }

  /** Signs in with an admin token. */
  async signIn(token: string): Promise<void> {
    const field = this.page.getByLabel("Administration token");
    await field.fill(token);
    await field.press("Enter");
  }

  /** Creates the first admin token of a new site; only this tab knows it. */
  async createToken(): Promise<void> {
    await this.page.getByRole("button", { name: "Create the admin token" }).click();
    await this.page.getByRole("button", { name: "I have saved it" }).click();
    await this.waitUntilSignedIn();
  }

  async waitUntilSignedIn(): Promise<void> {
    await this.page.getByRole("button", { name: /^Menu of / }).waitFor();
  }

  /** The scripts of the other views follow when the browser has nothing else to do. */
  waitUntilViewsLoaded(): Promise<void> {
    return this.expectEventually(
      `["audit", "licenses", "queue", "reports", "rules", "settings", "slots"].filter((view) => performance
        .getEntriesByType("resource")
        .some(({ name, responseEnd }) => name.includes("/assets/" + view + "-") && responseEnd > 0)
      ).length`,
      7,
    );
  }

  async signOut(): Promise<void> {
    await this.page.getByRole("button", { name: /^Menu of / }).click();
    const menu = this.page.locator("#account-menu");
    await menu.getByRole("button", { name: "Sign out" }).click();
  }

  async chooseTheme(theme: "System" | "Light" | "Dark"): Promise<void> {
    await this.page.getByRole("button", { name: /^Menu\b/ }).click();
    await this.page.getByRole("button", { name: theme, exact: true }).click();
    await this.page.keyboard.press("Escape");
  }

  async saveScreenshot(name: string): Promise<void> {
    if (SCREENSHOT_FOLDER === undefined) return;
    mkdirSync(SCREENSHOT_FOLDER, { recursive: true });
    await this.page.screenshot({ path: join(SCREENSHOT_FOLDER, `${name}.png`) });
  }

  /** Polls from outside: inside, the content security policy forbids evaluating a text. */
  expectEventually(expression: string, expected: unknown): Promise<void> {
    return expectEventually(async () => {
      try {
        return await this.page.evaluate<unknown>(expression);
      } catch (error) {
        // The page is loading another document: the expression has no value yet.
        if (String(error).includes("Execution context was destroyed")) return error;
        throw error;
      }
    }, expected);
  }

  /** Waits until an action has shown a text, however briefly: an observer in the page watches. */
  async expectBriefly(text: string, act: () => Promise<void>): Promise<void> {
    await this.page.evaluate(`(() => {
      globalThis.wasShown = false;
      new MutationObserver(() => {
        wasShown ||= document.body.textContent.includes(${JSON.stringify(text)});
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
    })()`);
    await act();
    await this.expectEventually("wasShown", true);
  }

  /** Checks the current screen with axe. */
  async checkAccessibility(screen: string, rules: readonly string[] = RULES): Promise<void> {
    // After a change of the width, lists are measured and drawn again.
    await waitForFrames(this.page);
    if (!(await this.page.evaluate<boolean>(`"axe" in globalThis`))) await this.page.evaluate(AXE);
    const violations = await this.page.evaluate<unknown[]>(
      `axe.run(document, { runOnly: ${JSON.stringify(rules)}, resultTypes: ["violations"] })
        .then(({ violations }) => violations.map(({ id, help, nodes }) => [id, help, nodes.map(({ html, any }) => [html, any.map(({ message }) => message)])]))`,
    );
    if (violations.length > 0) {
      this.#problems.push(`accessibility violation: ${screen}: ${JSON.stringify(violations)}`);
    }
  }

  /** Checks desktop and phone, light and dark: accessible, and never wider than the screen. */
  async checkLayouts(name: string): Promise<void> {
    for (const [size, viewport] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
      await this.page.setViewportSize(viewport);
      for (const colorScheme of ["light", "dark"] as const) {
        await this.page.emulateMedia({ colorScheme });
        const rules = colorScheme === "light" ? RULES : COLOUR_RULES;
        await this.checkAccessibility(`${name}, ${size}, ${colorScheme}`, rules);
        await this.saveScreenshot(`${name}-${size}-${colorScheme}`);
      }
      await this.checkWidth(`${name}, ${size}`, viewport.width);
    }
    await this.page.setViewportSize(DESKTOP);
    await this.page.emulateMedia({ colorScheme: "light" });
  }

  /** The page must be no wider than the screen. */
  async checkWidth(screen: string, maximum: number): Promise<void> {
    const width = await this.page.evaluate<number>("document.documentElement.scrollWidth");
    if (width > maximum) {
      this.#problems.push(`wider than the screen: ${screen}: ${width} instead of ${maximum}`);
    }
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}

/** Opens a page of the site as an administrator. `path` is a path with its slash, or `#/PAGE`. */
export async function openSignedIn(
  site: ServedSite,
  token: string,
  path: string,
  options?: BrowserContextOptions,
): Promise<OperatorPage> {
  const opened = await OperatorPage.open(new URL(path, site.url).href, options);
  await opened.signIn(token);
  await opened.waitUntilSignedIn();
  return opened;
}
