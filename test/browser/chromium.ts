// Debian's Chromium, driven by playwright-core: nothing else is downloaded.
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { atEnd, requirePackages } from "../support/suite-harness.ts";
import { LOOPBACK, networkAddress } from "./network-address.ts";

/**
 * How long the browser waits for an expected condition, in milliseconds: less than other tests do,
 * since a page that does not open at all fails every test of a suite.
 */
export const BROWSER_PATIENCE = 2 * 60_000;

/** Host names that the browser resolves without a DNS server. */
const HOST_NAMES = {
  "berth.example": LOOPBACK,
  "evil.example": LOOPBACK,
  "rebound.example": LOOPBACK,
  "rebound-network.example": networkAddress ?? LOOPBACK,
};

let browser: Promise<Browser> | null = null;

/** The browser of a suite: started once, and stopped at the end of the suite. */
export function startChromium(): Promise<Browser> {
  browser ??= launch();
  return browser;
}

async function launch(): Promise<Browser> {
  requirePackages({ chromium: "/usr/bin/chromium" });
  const rules = Object.entries(HOST_NAMES).map(([name, address]) => `MAP ${name} ${address}`);
  const launched = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    timeout: BROWSER_PATIENCE,
    // Chromium cannot create its sandbox as root.
    chromiumSandbox: process.getuid?.() !== 0,
    args: [
      `--host-resolver-rules=${rules.join(", ")}`,
      // Not every browser asks before a page may call the local network: Berth must be safe without
      // it. A process for each site takes time, and so do preloaded parts of the browser's own
      // windows; the suites do not need them.
      "--disable-site-isolation-trials",
      "--disable-features=IsolateOrigins,site-per-process,LocalNetworkAccessChecks,PreloadTopChromeWebUI,BlockInsecurePrivateNetworkRequests",
    ],
  });
  atEnd(() => {
    browser = null;
    void launched.close();
  });
  return launched;
}

/** Opens a page in a new browser profile, with time limits for a busy machine. */
export async function openPage(options?: BrowserContextOptions): Promise<Page> {
  const page = await (await startChromium()).newPage(options);
  page.context().setDefaultTimeout(BROWSER_PATIENCE);
  return page;
}
