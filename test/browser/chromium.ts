// Debian's Chromium without its windows, driven by playwright-core: nothing else is downloaded.
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from "playwright-core";
import { PATIENCE } from "../support/patience.ts";
import { atEnd, atEndOfRun, requirePackages } from "../support/suite-harness.ts";
import { LOOPBACK, networkAddress } from "./network-address.ts";

/** It takes a third less processor time than `chromium`, and has the same engine. */
const PROGRAM = "/usr/bin/chromium-headless-shell";

/** Host names that the browser resolves without a DNS server. */
const HOST_NAMES = {
  "berth.example": LOOPBACK,
  "evil.example": LOOPBACK,
  "rebound.example": LOOPBACK,
  "rebound-network.example": networkAddress ?? LOOPBACK,
};

let browser: Promise<Browser> | null = null;

/** One browser for all suites of a run: its start takes as long as several tests. */
function startChromium(): Promise<Browser> {
  browser ??= launch();
  return browser;
}

async function launch(): Promise<Browser> {
  requirePackages({ "chromium-headless-shell": PROGRAM });
  const rules = Object.entries(HOST_NAMES).map(([name, address]) => `MAP ${name} ${address}`);
  const launched = await chromium.launch({
    executablePath: PROGRAM,
    timeout: PATIENCE,
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
  atEndOfRun(() => launched.close());
  return launched;
}

/** Opens a new browser profile, with time limits for a busy machine; it ends with the suite. */
export async function openProfile(options?: BrowserContextOptions): Promise<BrowserContext> {
  const context = await (await startChromium()).newContext(options);
  context.setDefaultTimeout(PATIENCE);
  atEnd(() => void context.close().catch(() => {}));
  return context;
}

/** Opens a page in a new browser profile. */
export async function openPage(options?: BrowserContextOptions): Promise<Page> {
  return (await openProfile(options)).newPage();
}
