// Debian's Chromium, driven by playwright-core: nothing else is downloaded.
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { atEnd, requirePackages } from "../support/suite-harness.ts";
import { PATIENCE } from "../support/patience.ts";

/** Starts a browser that resolves these host names to these addresses without a DNS server. */
export async function startChromium(names: Readonly<Record<string, string>>): Promise<Browser> {
  requirePackages({ chromium: "/usr/bin/chromium" });
  const rules = Object.entries(names).map(([name, address]) => `MAP ${name} ${address}`);
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    timeout: PATIENCE,
    // Chromium cannot create its sandbox as root.
    chromiumSandbox: process.getuid?.() !== 0,
    args: [
      `--host-resolver-rules=${rules.join(", ")}`,
      // Not every browser asks before a page may call the local network: Berth must be safe without
      // it. A process for each site takes time, and the suites do not need it.
      "--disable-site-isolation-trials",
      "--disable-features=IsolateOrigins,site-per-process,LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests",
    ],
  });
  atEnd(() => void browser.close());
  return browser;
}

/** Opens a page in a new browser profile, with time limits for a busy machine. */
export async function openPage(browser: Browser, options?: BrowserContextOptions): Promise<Page> {
  const page = await browser.newPage(options);
  page.context().setDefaultTimeout(PATIENCE);
  return page;
}
