// Debian's Chromium, driven by playwright-core: nothing is downloaded besides these two.
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { atEnd, requirePackages } from "../support/suite-harness.ts";
import { PATIENCE } from "../support/patience.ts";

/** Starts one that finds these names at these addresses, whatever a DNS server would say. */
export async function startChromium(names: Readonly<Record<string, string>>): Promise<Browser> {
  requirePackages({ chromium: "/usr/bin/chromium" });
  const rules = Object.entries(names).map(([name, address]) => `MAP ${name} ${address}`);
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    timeout: PATIENCE,
    // A sandbox cannot be made by root.
    chromiumSandbox: process.getuid?.() !== 0,
    args: [
      `--host-resolver-rules=${rules.join(", ")}`,
      // Not every browser asks before a page may call into the local network; Berth must not need it.
      // Nor does it need a process for each site, which takes time.
      "--disable-site-isolation-trials",
      "--disable-features=IsolateOrigins,site-per-process,LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests",
    ],
  });
  atEnd(() => void browser.close());
  return browser;
}

/** A page in a browser profile of its own; it and what it opens are waited for with patience. */
export async function openPage(browser: Browser, options?: BrowserContextOptions): Promise<Page> {
  const page = await browser.newPage(options);
  page.context().setDefaultTimeout(PATIENCE);
  return page;
}
