// The Queue page: users who wait for a slot appear at once, in their order, and an administrator
// moves them to the front or removes them. A viewer reads the queue.
import { afterEach, beforeAll, describe, expect, onTestFinished, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import {
  applyRules,
  callApi,
  joinQueue,
  startLicensedSite,
  type Licensed,
} from "./licensed-site.ts";
import {
  createToken,
  expectEventually,
  HOSTILE,
  openSignedIn,
  type OperatorPage,
} from "./operator-page.ts";

/** A time of day. */
const TIME: string = expect.stringMatching(/\d:\d\d/);

const GROUP_RULES = `[[rule]]
product = "CAE"
reserve = [{ group = "sim", slots = 1 }]
queue = { priority = ["sim", "ops"], hold_seconds = 3600 }
[groups]
sim.users = ["sim-*"]
ops.users = ["ops-*"]
`;

let site: Licensed;
let token: string;

beforeAll(async () => {
  site = await startLicensedSite({ CAD: ["--slots", "1"], CAE: ["--slots", "2"] });
  token = await createToken(site);
  // A place must not end during a test, even on a busy machine.
  const rules = `[[rule]]\nproduct = "CAD"\nqueue = { hold_seconds = 3600 }\nlimit = { each_user = 1 }\n`;
  await applyRules(site, token, rules + GROUP_RULES);
});

const placed: string[] = [];

/** Takes the only slot, then the users wait for it in this order. */
async function waitInQueue(...users: string[]): Promise<void> {
  await callApi(site, "register", { product: "CAD", user: "holder" });
  for (const user of users) {
    await joinQueue(site, "CAD", user);
    placed.push(user);
  }
}

afterEach(async () => {
  for (const user of [...placed.splice(0), "holder"]) {
    await callApi(site, "unregister", { product: "CAD", user });
  }
});

interface QueuePage {
  readonly opened: OperatorPage;
  readonly page: Page;
  readonly rows: Locator;
  readonly users: () => Promise<string[]>;
}

async function openQueue(as = token): Promise<QueuePage> {
  const opened = await openSignedIn(site, as, "#/queue");
  const { page } = opened;
  const rows = page.getByRole("region", { name: "Users who wait for CAD" }).locator("tbody tr");
  return { opened, page, rows, users: () => rows.getByRole("link").allInnerTexts() };
}

describe("the queue", () => {
  test("says what it is while no user waits", async () => {
    const { opened, page } = await openQueue();
    await page.getByRole("heading", { name: "No user waits for a slot" }).waitFor();
    await page.getByText("Prefer: wait=60").waitFor();
    await opened.checkLayouts("queue-empty");
  });

  test("shows users in their order as soon as they wait, and who gets a slot", async () => {
    const { opened, page, rows, users } = await openQueue();
    await page.getByRole("heading", { name: "No user waits for a slot" }).waitFor();
    await waitInQueue("ada", HOSTILE, "lin");
    await expectEventually(users, ["ada", HOSTILE, "lin"]);
    await page.getByText("3 users waiting", { exact: true }).waitFor();
    await rows.first().getByText("not known").waitFor();
    await opened.checkLayouts("queue");
    await callApi(site, "unregister", { product: "CAD", user: "holder" });
    await rows.first().getByText("a slot is held").waitFor();
    await page.getByText("2 users waiting, 1 slot held").waitFor();
    await callApi(site, "register", { product: "CAD", user: "ada" });
    await expectEventually(users, [HOSTILE, "lin"]);
    await callApi(site, "unregister", { product: "CAD", user: "ada" });
  });

  test("names the limit and its line that block a user, until the limit allows a slot", async () => {
    await waitInQueue("holder#second");
    const { opened, rows, users } = await openQueue();
    await expectEventually(users, ["holder#second"]);
    await rows
      .getByText("blocked by a limit: one user may have 1 slot of CAD at once (line 4)")
      .waitFor();
    await rows.getByText("(line 4)").waitFor();
    await opened.checkLayouts("queue-limit");
    await callApi(site, "unregister", { product: "CAD", user: "holder" });
    await rows.getByText("a slot is held").waitFor();
    expect(await rows.getByText("limit").count()).toBe(0);
  });

  test("names the group that a place owes its position to, and when the place ends", async () => {
    const call = (operation: string, user: string) =>
      callApi(site, operation, { product: "CAE", user });
    const users = ["sim-0", "holder", "zoe", "ops-1", "sim-1"];
    onTestFinished(async () => {
      for (const user of users) await call("unregister", user);
    });
    for (const user of users.slice(0, 2)) await call("register", user);
    for (const user of users.slice(2)) await joinQueue(site, "CAE", user);
    const { page } = await openSignedIn(site, token, "#/queue/CAE");
    const rows = page.getByRole("region", { name: "Users who wait for CAE" }).locator("tbody tr");
    /** Without "Waiting since" and "Expected". */
    const read = async (): Promise<string[][]> => {
      const all = await rows.all();
      const texts = await Promise.all(all.map((row) => row.locator("th, td").allInnerTexts()));
      return texts.map((cells) => cells.toSpliced(3, 2));
    };
    await rows.nth(2).waitFor();
    const home = "sim, reserved slots and priority";
    expect(await read()).toEqual([
      ["sim-1", "1", "waiting", home, TIME, "Remove"],
      ["ops-1", "2", "waiting", "ops, priority", TIME, "To the front\nRemove"],
      ["zoe", "3", "waiting", "–", TIME, "To the front\nRemove"],
    ]);
    await call("unregister", "holder");
    await rows.first().getByText("a slot is held").waitFor();
    expect(await read()).toEqual([
      ["sim-1", "–", "a slot is held", home, TIME, "Remove"],
      ["ops-1", "1", "waiting", "ops, priority", TIME, "Remove"],
      ["zoe", "2", "waiting", "–", TIME, "To the front\nRemove"],
    ]);
    await page.getByRole("link", { name: "Queue 3" }).waitFor();
  });

  test("is counted beside the slots, which lead to it", async () => {
    await waitInQueue("ada", "lin");
    const { page } = await openSignedIn(site, token, "#/slots/CAD");
    await page.getByRole("link", { name: "Queue 2" }).click();
    await page.getByRole("heading", { name: "Queue", level: 2 }).waitFor();
    expect(new URL(page.url()).hash).toBe("#/queue/CAD");
    await page.getByLabel("Product").selectOption("CAE");
    await page.getByRole("heading", { name: "No user waits for a slot of CAE" }).waitFor();
    await page.getByRole("link", { name: "In use", exact: true }).click();
    await expectEventually(() => new URL(page.url()).hash, "#/slots/CAE");
    await page.getByRole("link", { name: "Overview", exact: true }).click();
    await page.getByRole("link", { name: "2 users waiting" }).click();
    await expectEventually(() => new URL(page.url()).hash, "#/queue/CAD");
  });

  test("keeps a held slot from the free slots of the overview", async () => {
    await waitInQueue("ada");
    const { page } = await openSignedIn(site, token, "/");
    const card = page.locator("article.license", { hasText: "CAD" });
    await card.getByRole("link", { name: "1 user waiting" }).waitFor();
    await callApi(site, "unregister", { product: "CAD", user: "holder" });
    await card.getByRole("link", { name: "1 slot held" }).waitFor();
    await card.getByText("0 of 1 slots in use").waitFor();
    await card.getByText("full", { exact: true }).waitFor();
    expect(await card.getByText("free").count()).toBe(0);
  });

  test("lets an administrator move a user to the front, and remove one", async () => {
    await waitInQueue("ada", "grace", "lin");
    const { page, users } = await openQueue();
    await expectEventually(users, ["ada", "grace", "lin"]);
    await page.getByRole("button", { name: "Move lin to the front of the queue of CAD" }).click();
    await page.getByText("lin is at the front of the queue of CAD.").waitFor();
    await expectEventually(users, ["lin", "ada", "grace"]);
    await page.getByRole("button", { name: "Remove ada from the queue of CAD" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await expectEventually(users, ["lin", "ada", "grace"]);
    await page.getByRole("button", { name: "Remove ada from the queue of CAD" }).click();
    await dialog.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByText("ada was removed from the queue of CAD.").waitFor();
    await expectEventually(users, ["lin", "grace"]);
  });

  test("shows a viewer everything, and no buttons that change it", async () => {
    await waitInQueue("ada", "lin");
    const { page, users } = await openQueue(await createToken(site, "reader", "viewer"));
    await expectEventually(users, ["ada", "lin"]);
    expect(await page.getByRole("button", { name: /^(?:Remove|Move)/ }).count()).toBe(0);
  });

  test("has its events in the audit log", async () => {
    await waitInQueue("ada");
    const { page } = await openSignedIn(site, token, "#/audit/user=ada");
    await page.locator(".event.queue").first().waitFor();
  });
});
