// A server that stops or hangs while the page is open: every view keeps what it shows, says since
// when, and is current again by itself when the server is back. Also what tells one site from
// another.
import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Route } from "playwright-core";
import { atEnd } from "../support/suite-harness.ts";
import { startBinary, type ServerProcess } from "../support/binary.ts";
import {
  applyRules,
  callApi,
  joinQueue,
  startLicensedSite,
  type Licensed,
} from "./licensed-site.ts";
import { SCREENS, type Screen } from "./layout-screens.ts";
import { createToken, expectEventually, openSignedIn, type OperatorPage } from "./operator-page.ts";

let site: Licensed;
let token: string;
let running: Pick<ServerProcess, "pid" | "stop"> | null = null;

beforeAll(async () => {
  const licenses = { CAD: ["--slots", "10"], QUOTA: ["--slots", "1"] };
  site = await startLicensedSite(licenses, "--site-name", "Plant 4");
  running = site;
  token = await createToken(site);
  for (const user of ["ada", "bob"]) await callApi(site, "register", { product: "CAD", user });
  const rules = `[[rule]]\nproduct = "CAD"\nqueue = { hold_seconds = 3600 }\nlimit = { each_user = 1 }\n`;
  await applyRules(site, token, rules);
  // The limit keeps this user in the queue while there are free slots.
  await joinQueue(site, "CAD", "ada#second");
});

async function startAgain(): Promise<void> {
  const listen = `127.0.0.1:${new URL(site.url).port}`;
  const flags = ["--data", site.folder, "--listen", listen, "--site-name", "Plant 4"];
  const restarted = await startBinary("serve", ...flags);
  atEnd(() => void restarted.kill());
  running = restarted;
}

async function stopServer(): Promise<void> {
  await running?.stop();
  running = null;
}

/** A test that failed may have left the server stopped. */
beforeEach(async () => {
  if (running === null) await startAgain();
});

/** What a reader would take for a fault. */
const redTexts = ({ page }: OperatorPage): Promise<string[]> =>
  page.locator(".notice.bad, p.bad, [role=alert]").allTextContents();

async function expectReconnecting({ page }: OperatorPage): Promise<void> {
  await page.getByText(/^Reconnecting… as of \d/).waitFor();
  expect(await page.locator("main").getAttribute("class")).toContain("outdated");
}

async function expectRecovered(opened: OperatorPage): Promise<void> {
  await opened.page.getByText("Live", { exact: true }).waitFor();
  await expectEventually(() => redTexts(opened), []);
  await expectEventually(() => opened.page.getByText("Loading…").count(), 0);
  expect(await opened.page.locator("main").getAttribute("class")).not.toContain("outdated");
}

const screens = SCREENS.filter(
  ({ path, isSignedIn }) => path.startsWith("#/") && isSignedIn !== false,
);

describe("while the server is stopped", () => {
  test("every view keeps its data in grey with its time, and recovers after the start", async () => {
    const opened: [Screen, OperatorPage][] = [];
    // A token has at most 20 sessions, and the oldest one ends.
    const tokens = [token, await createToken(site, "second")];
    for (const [index, screen] of screens.entries()) {
      const view = await openSignedIn(site, tokens[index % 2] ?? token, screen.path);
      await screen.ready(view.page).waitFor();
      opened.push([screen, view]);
    }
    await stopServer();
    for (const [{ name, ready }, view] of opened) {
      await expectReconnecting(view);
      await ready(view.page).waitFor();
      expect([name, await redTexts(view)]).toEqual([name, []]);
    }
    await opened[0]?.[1].checkAccessibility("overview page, connection lost");
    await opened[0]?.[1].saveScreenshot("overview-lost");
    await startAgain();
    for (const [{ ready }, view] of opened) {
      await expectRecovered(view);
      await ready(view.page).waitFor();
    }
  });

  test("a view that is opened meanwhile loads when the server is back", async () => {
    const view = await openSignedIn(site, token, "#/overview");
    await view.page.getByText("2 of 10 slots in use").waitFor();
    await view.waitUntilViewsLoaded();
    await stopServer();
    await expectReconnecting(view);
    for (const name of [
      "Slots",
      "Rules",
      "Licenses",
      "Reports",
      "Audit log",
      "Health",
      "Settings",
    ]) {
      await view.page.getByRole("link", { name, exact: true }).click();
      await view.page.getByRole("heading", { name, level: 2 }).waitFor();
      expect([name, await redTexts(view)]).toEqual([name, []]);
    }
    await view.page.getByRole("link", { name: "Audit log", exact: true }).click();
    await startAgain();
    await expectRecovered(view);
    await view.page.locator(".event").first().waitFor();
  });

  test("a change made after the start appears", async () => {
    const view = await openSignedIn(site, token, "#/overview");
    await view.page.getByText("2 of 10 slots in use").waitFor();
    await stopServer();
    await expectReconnecting(view);
    await startAgain();
    await callApi(site, "register", { product: "CAD", user: "eve" });
    await view.page.getByText("3 of 10 slots in use").waitFor();
    await callApi(site, "unregister", { product: "CAD", user: "eve" });
  });
});

test("a server that hangs is noticed, and an action says that its outcome is unknown", async () => {
  const view = await openSignedIn(site, token, "#/slots");
  const { page } = view;
  await page
    .getByRole("button", { name: /^Release.*bob/ })
    .first()
    .click();
  const pid = running?.pid ?? 0;
  process.kill(pid, "SIGSTOP");
  try {
    await page.locator("dialog .button.danger").click();
    await expectReconnecting(view);
    await page.getByText("The change may have been made: look again").waitFor();
    expect(await redTexts(view)).toEqual([]);
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await expectRecovered(view);
  await page.getByRole("button", { name: "Cancel" }).click();
  // The server did receive the request.
  await expectEventually(() => page.locator(".slot-body").getByText("bob").count(), 0);
});

test("a disk that does not answer is named, and the view is current again when it does", async () => {
  const view = await openSignedIn(site, token, "#/overview");
  const { page } = view;
  const stream = "**/api/admin/v1/stream";
  const expectNotice = () =>
    page.getByRole("alert").getByText("The disk of the server does not answer").waitFor();
  await page.route(stream, (route) =>
    route.fulfill({
      status: 503,
      json: { status: 503, code: "storage_failed", message: "the disk does not answer" },
    }),
  );
  await stopServer();
  await startAgain();
  await expectNotice();
  await expectReconnecting(view);
  await view.checkAccessibility("a disk that does not answer");
  await page.reload();
  await expectNotice();
  await page.unroute(stream);
  await expectRecovered(view);
});

describe("a view whose script cannot be loaded", () => {
  test.each([
    ["because the connection is lost", (route: Route) => route.abort()],
    ["because the server was updated", (route: Route) => route.fulfill({ status: 404, body: "" })],
  ])("says so %s, and a reload helps", async (_reason, answer) => {
    const view = await openSignedIn(site, token, "#/overview");
    const { page } = view;
    await page.getByText(/of 10 slots in use/).waitFor();
    await page.route("**/assets/settings-*", answer);
    await page.reload();
    await page.getByText(/of 10 slots in use/).waitFor();
    await page.getByRole("link", { name: "Settings", exact: true }).click();
    await page.getByRole("alert").getByText("This view could not be loaded.").waitFor();
    await view.checkAccessibility("a view that could not be loaded");
    await page.unroute("**/assets/settings-*");
    await page.getByRole("button", { name: "Reload the page" }).click();
    await page.getByRole("heading", { name: "Settings", level: 2 }).waitFor();
    expect(await redTexts(view)).toEqual([]);
  });

  test("loads when the connection is back", async () => {
    const view = await openSignedIn(site, token, "#/overview");
    const { page } = view;
    await page.route("**/assets/settings-*", (route) => route.abort());
    await page.reload();
    await page.getByText(/of 10 slots in use/).waitFor();
    await stopServer();
    await expectReconnecting(view);
    await page.getByRole("link", { name: "Settings", exact: true }).click();
    await page.getByText("Loading…").waitFor();
    expect(await redTexts(view)).toEqual([]);
    await page.unroute("**/assets/settings-*");
    await startAgain();
    await page.getByRole("heading", { name: "Settings", level: 2 }).waitFor();
  });
});

describe("the tab", () => {
  test("names the view and the site, and signing in too", async () => {
    const view = await openSignedIn(site, token, "#/slots");
    await view.expectEventually(
      "document.title.replace(/^\\(\\d+\\) /, '')",
      "Slots · Plant 4 · Berth",
    );
    await view.page.getByRole("banner").getByText("Plant 4").waitFor();
    await view.signOut();
    await view.expectEventually("document.title", "Sign in · Plant 4 · Berth");
    await view.page.getByRole("banner").getByText("Plant 4").waitFor();
  });

  test("opens with the view that was open last", async () => {
    const view = await openSignedIn(site, token, "#/licenses");
    await view.page.getByRole("heading", { name: "Licenses", level: 2 }).waitFor();
    await view.page.goto(site.url);
    await view.expectEventually("location.hash", "#/licenses");
  });

  test("works where the browser denies storage", async () => {
    const view = await openSignedIn(site, token, "#/overview");
    await view.page.addInitScript(`
      for (const name of ["localStorage", "sessionStorage"])
        Object.defineProperty(window, name, { get() { throw new DOMException("denied"); } });
    `);
    await view.page.reload();
    await view.signIn(token);
    await view.page.getByText("of 10 slots in use").waitFor();
    await view.chooseTheme("Dark");
    await view.expectEventually("document.documentElement.dataset.theme", "dark");
  });
});
