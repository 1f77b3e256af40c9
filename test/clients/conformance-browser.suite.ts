// The client for JavaScript in a page of a real browser. The page has the origin of the server:
// a page of another site cannot call the server, and the client says so.
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page, Route } from "playwright-core";
import { openPage } from "../browser/chromium.ts";
import { expectEventually } from "../browser/operator-page.ts";
import { SOURCES } from "./conformance/clients.ts";
import {
  makeSiteFolder,
  ProductOnServer,
  serveFolder,
  ROOT_PUBLIC_KEY,
} from "./conformance/site.ts";

const PRODUCT = "browser";
const OTHER_ORIGIN = "http://evil.example:8080";
const CLIENT_FILE = readFileSync(join(SOURCES, "berth.js"), "utf8");

let server: ProductOnServer;
let page: Page;

beforeAll(async () => {
  const folder = await makeSiteFolder({ [PRODUCT]: {} });
  server = new ProductOnServer((await serveFolder(folder)).url, PRODUCT);
});

beforeEach(async () => {
  page = await openPage();
});

afterEach(async () => {
  await page.context().close();
  await server.post("unregister", { user: "ada" });
});

/**
 * The browser gets the page and the client as if the server of that origin had them.
 * Then nothing is intercepted any more: an intercepted request of a page that is being closed is
 * lost, since there is no page left to continue it.
 */
async function openClientPage(origin: string): Promise<void> {
  const answer = (body: string, contentType: string) => (route: Route) =>
    route.fulfill({ body, contentType });
  await page.route(`${origin}/app`, answer("<!doctype html><title>app</title>", "text/html"));
  await page.route(`${origin}/berth.js`, answer(CLIENT_FILE, "text/javascript"));
  await page.goto(`${origin}/app`);
  await page.evaluate(`import("/berth.js").then((berth) => {
    globalThis.berth = berth;
    globalThis.losses = [];
  })`);
  await page.unrouteAll();
}

/** An expression that creates a client. */
const makeClient = (): string => {
  // Time for a busy machine.
  const options = JSON.stringify({ rootKeys: ROOT_PUBLIC_KEY, timeout: 60, retryFor: 60 });
  return `globalThis.client = new berth.Client("${server.url}", "${PRODUCT}", ${options})`;
};

async function openWithClient(): Promise<void> {
  await openClientPage(server.url);
  await page.evaluate(`void (${makeClient()})`);
}

/** The value of an expression, or the error that it throws. */
const run = (expression: string): Promise<unknown> =>
  page.evaluate(`(async () => {
    try {
      return await (${expression});
    } catch (error) {
      const { name, code, message } = error;
      return { error: { name, code, message } };
    }
  })()`);

/** The page keeps the slot: one that it does not refer to is released by the garbage collector. */
const ACQUIRE = `client
  .acquire("ada", {
    onLoss: (slot, { name, code, message }) =>
      losses.push([slot.user, slot.isHeld, name, code, message]),
  })
  .then((slot) => {
    globalThis.slot = slot;
    return slot.isHeld;
  })`;

/** A slot of 15 minutes is renewed after 5 minutes, or 10 percent later. */
const RENEWAL_DUE = 6 * 60_000;

/** Opens the page again with a clock that the test can move forward. */
async function openWithTestClock(): Promise<void> {
  await page.clock.install();
  await openWithClient();
}

describe("in a page of the server", () => {
  beforeEach(openWithClient);

  test("a slot is taken, described and released", async () => {
    const slot = await run(`client.acquire("ada").then((slot) => {
      globalThis.slot = slot;
      return { user: slot.user, isHeld: slot.isHeld, product: typeof slot.license };
    })`);
    expect(slot).toEqual({ user: "ada", isHeld: true, product: "object" });
    expect(await server.slotsInUse()).toBe(1);
    expect(await run("slot.release()")).toBe(true);
    expect(await run("slot.isHeld")).toBe(false);
    expect(await server.slotsInUse()).toBe(0);
  });

  test("a slot is renewed in the background", async () => {
    await openWithTestClock();
    expect(await run(ACQUIRE)).toBe(true);
    for (let count = 0; count < 2; count += 1) {
      const end = await run("slot.expiresAt");
      await page.clock.fastForward(RENEWAL_DUE);
      await expectEventually(async () => (await run("slot.expiresAt")) !== end, true);
    }
    expect(await run("slot.isHeld")).toBe(true);
    expect(await run("client.close().then(() => true)")).toBe(true);
    expect(await server.slotsInUse()).toBe(0);
  });

  test("a slot that the server refuses to renew is lost", async () => {
    await openWithTestClock();
    const reply = page.waitForResponse("**/api/v4/register");
    expect(await run(ACQUIRE)).toBe(true);
    const appliance = (await (await reply).headerValue("berth-appliance")) ?? "";
    await page.route("**/api/v4/register", async (route) => {
      const json = { code: "license_expired", message: "the license has expired" };
      await route.fulfill({ status: 400, headers: { "berth-appliance": appliance }, json });
    });
    await page.clock.fastForward(RENEWAL_DUE);
    const message =
      `the slot of ada is lost: ${server.url} refused: ` +
      "the license has expired (license_expired)";
    const lost = [["ada", false, "RefusedError", "license_expired", message]];
    await expectEventually(() => run("losses"), lost as unknown);
  });

  test("a floating feature is taken and released with its slot", async () => {
    const held = await run(`client.acquire("ada")
      .then((slot) => { globalThis.slot = slot; return slot.acquireFeature("RENDER"); })
      .then((feature) => { globalThis.feature = feature; return feature.isHeld; })`);
    expect(held).toBe(true);
    expect((await server.feature("RENDER")).floating_in_use_devices).toBe(1);
    await run("slot.release()");
    expect(await run("feature.isHeld")).toBe(false);
    expect(await server.slotsInUse()).toBe(0);
  });

  test("a borrowed slot is checked offline, also after the page is loaded again", async () => {
    const borrow = (await run(
      `client.borrow("ada", { until: new Date(Date.now() + 3_600_000) })`,
    )) as { lease: string; license: string };
    const check = () =>
      run(`client.verify(${JSON.stringify(borrow.lease)}, ${JSON.stringify(borrow.license)})`);
    const { error, ...checked } = (await check()) as Record<string, unknown>;
    expect(error).toBeUndefined();
    expect(checked).toMatchObject({ user: "ada", product: PRODUCT });
    // The nonce of the device is in the local storage.
    await openWithClient();
    expect(await check()).toMatchObject({ user: "ada", product: PRODUCT });
    expect(await server.slotsInUse()).toBe(1);
    await run(`client.release("ada")`);
    expect(await server.slotsInUse()).toBe(0);
  });

  test("a lease of another device is refused", async () => {
    const borrow = (await run(
      `client.borrow("ada", { until: new Date(Date.now() + 3_600_000) })`,
    )) as { lease: string; license: string };
    await page.evaluate("localStorage.clear()");
    await openWithClient();
    const { lease, license } = borrow;
    const refused = await run(
      `client.verify(${JSON.stringify(lease)}, ${JSON.stringify(license)})`,
    );
    expect(refused).toMatchObject({ error: { name: "LeaseRefusedError", code: "other_device" } });
    await run(`client.release("ada")`);
  });

  test("consumptions are counted", async () => {
    const before = await server.total();
    expect(await run("client.consume(3).then(({ total }) => total)")).toBe(before + 3);
    const counted = await run(
      `client.consume(2, { feature: "EXPORT" }).then(({ total }) => total)`,
    );
    expect(counted).toBe((await server.feature("EXPORT")).total_consumptions);
    expect(await server.total()).toBe(before + 3);
  });

  test("a slot is released when the page is left", async () => {
    expect(await run(ACQUIRE)).toBe(true);
    expect(await server.slotsInUse()).toBe(1);
    await page.goto("about:blank");
    await expectEventually(() => server.slotsInUse(), 0);
  });

  test("a slot is released when the tab is closed", async () => {
    expect(await run(ACQUIRE)).toBe(true);
    expect(await server.slotsInUse()).toBe(1);
    await page.close({ runBeforeUnload: true });
    await expectEventually(() => server.slotsInUse(), 0);
  });
});

test("a page of another site is refused, and the error says which pages can call", async () => {
  await openClientPage(OTHER_ORIGIN);
  const refused = (await run(makeClient())) as {
    readonly error: { readonly name: string; readonly message: string };
  };
  expect(refused.error.name).toBe("InvalidArgumentError");
  expect(refused.error.message).toContain(server.url);
  expect(refused.error.message).toContain("a web page can only call the server that it came from");
});
