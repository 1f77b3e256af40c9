// The API documentation page by keyboard, on a phone, in the dark theme, with a token, and over
// plain HTTP at a network address, where browsers send no Sec-Fetch-Site.
import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { ServerProcess } from "../support/binary.ts";
import { makeTempFolder, testUnless } from "../support/suite-harness.ts";
import { fillField, openOperation, readStatus, sendForm, serveDemo } from "./docs-page.ts";
import { networkAddress, noNetworkAddress } from "./network-address.ts";
import { createToken, expectEventually, OperatorPage, serveSite } from "./operator-page.ts";

const SCREENS = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };

let demo: ServerProcess;

beforeAll(async () => {
  demo = await serveDemo("127.0.0.1", join(makeTempFolder(), "demo"));
});

test("the docs page can be used from the address bar to an answer by keyboard alone", async () => {
  const opened = await OperatorPage.open(`${demo.url}/api/v4/docs`);
  const { keyboard } = opened.page;
  await opened.page.getByRole("heading", { name: "How to call" }).waitFor();
  await keyboard.press("Tab");
  const focusedName = (): Promise<string> =>
    opened.page.evaluate<string>(
      `document.activeElement.getAttribute("aria-label") ?? (document.activeElement.type === "search"
        ? "search" : document.activeElement.textContent)`,
    );
  expect(await focusedName()).toBe("Skip to the content");
  const reachByTab = async (name: string): Promise<void> => {
    const stops: string[] = [];
    while (stops.at(-1) !== name && stops.length < 60) {
      if (stops.length > 0) await keyboard.press("Tab");
      stops.push(await focusedName());
    }
    expect(stops).toContain(name);
  };
  await reachByTab("search");
  await keyboard.type("api/v4/borrow");
  await keyboard.press("Enter");
  await opened.page.getByRole("heading", { name: "Borrow a license slot for a user" }).waitFor();
  // Choosing an operation moves the focus to its beginning; Send is a few Tabs away.
  await opened.expectEventually("document.activeElement.id", "view");
  await reachByTab("Send");
  await keyboard.press("Enter");
  expect(await readStatus(opened.page)).toBe("200");
  expect(await focusedName()).toBe("Send");
});

describe.each(["light", "dark"] as const)("in the %s theme", (colorScheme) => {
  test.each(["desktop", "phone"] as const)(
    "the docs page calls an operation, and is accessible and no wider than the screen of a %s",
    async (device) => {
      const viewport = SCREENS[device];
      const opened = await OperatorPage.open(`${demo.url}/api/v4/docs`, { colorScheme, viewport });
      const { page } = opened;
      const screen = `${device}, ${colorScheme}`;
      await page.getByRole("heading", { name: "How to call" }).waitFor();
      await opened.checkAccessibility(`docs page, how to call, ${screen}`);
      await opened.saveScreenshot(`docs-${device}-${colorScheme}-how-to-call`);
      if (device === "phone") {
        await page.getByText("Operations", { exact: true }).click();
        await opened.checkAccessibility(`docs page, the index, ${screen}`);
        await opened.saveScreenshot(`docs-${device}-${colorScheme}-index`);
        await page.locator('.index a[href="#get-api-v4-license"]').click();
        await page.getByRole("heading", { name: "Get a license" }).waitFor();
        // Choosing an operation closes the index.
        await expectEventually(() => page.locator(".index details[open]").count(), 0);
      } else {
        await openOperation(page, "get-api-v4-license");
      }
      await opened.saveScreenshot(`docs-${device}-${colorScheme}`);
      await page.getByText("Fields of product_features").click();
      expect(await sendForm(page)).toBe("200");
      await opened.checkAccessibility(`docs page, an operation and its answer, ${screen}`);
      await page.locator(".response").scrollIntoViewIfNeeded();
      await opened.saveScreenshot(`docs-${device}-${colorScheme}-answer`);
      expect(
        await page.evaluate<number>(
          "document.documentElement.scrollWidth - document.documentElement.clientWidth",
        ),
      ).toBe(0);
    },
  );
});

test("the docs page uses the token that it created until a reload, and stores it nowhere", async () => {
  const site = await serveSite();
  const opened = await OperatorPage.open(`${site.url}/api/v4/docs`);
  const { page } = opened;
  await openOperation(page, "post-api-admin-v1-access-tokens");
  await fillField(page, "name", "me");
  await fillField(page, "role", "admin");
  expect(await sendForm(page)).toBe("200");
  await page.getByRole("button", { name: "Use this token here" }).click();
  await openOperation(page, "get-api-admin-v1-status");
  expect(await sendForm(page)).toBe("200");
  // The command does not show the token.
  const command = await page.locator(".response .curl code").textContent();
  expect(command).toContain("Bearer $BERTH_TOKEN");
  await page.reload();
  await page.getByRole("heading", { name: "Try it" }).waitFor();
  expect(await sendForm(page)).toBe("401");
  expect(await page.getByRole("alert").textContent()).toContain("berth admin token");
  expect(
    await page.evaluate("[{ ...localStorage }, { ...sessionStorage }, document.cookie]"),
  ).toEqual([{}, {}, ""]);
  await site.stop();
});

test("a wrong password on the docs page is answered with 401 and the server's message, without a dialog", async () => {
  const site = await serveSite();
  await createToken(site);
  const opened = await OperatorPage.open(`${site.url}/api/v4/docs`);
  const { page } = opened;
  await openOperation(page, "get-auth");
  await fillField(page, "Name", "ada");
  await fillField(page, "Password", "a wrong one");
  // With a password dialog of the browser, there would be no answer.
  expect(await sendForm(page)).toBe("401");
  expect(await page.getByRole("alert").textContent()).toContain(
    "the name or the password is wrong",
  );
  await opened.checkAccessibility("docs page, a refused login");
  await site.stop();
});

// Over plain HTTP at a network address, browsers send only a Referer as the origin of a request.
describe("over plain HTTP at a network address", () => {
  const testOverNetwork = testUnless(noNetworkAddress);
  let plain: ServerProcess;

  beforeAll(async () => {
    if (networkAddress === undefined) return;
    plain = await serveDemo(networkAddress, join(makeTempFolder(), "demo"));
  });

  for (const id of ["post-api-v4-register", "get-api-v4-license", "get-api-v4-setKeys"]) {
    testOverNetwork(
      `${id} can be called from the docs page, though the browser sends only a Referer`,
      async () => {
        const { page } = await OperatorPage.open(`${plain.url}/api/v4/docs`);
        await openOperation(page, id);
        const sentRequest = page.waitForRequest((request) => request.resourceType() === "fetch");
        const [request, status] = await Promise.all([sentRequest, sendForm(page)]);
        const headers = await request.allHeaders();
        expect({ site: headers["sec-fetch-site"], referer: headers["referer"] }).toEqual({
          site: undefined,
          referer: `${plain.url}/api/v4/docs`,
        });
        expect(status).toBe("200");
      },
    );
  }

  testOverNetwork(
    "the curl command of the docs page can be copied, though browsers give scripts no clipboard",
    async () => {
      const opened = await OperatorPage.open(`${plain.url}/api/v4/docs`);
      await openOperation(opened.page, "get-api-v4-setKeys");
      await sendForm(opened.page);
      const copy = opened.page.getByRole("button", { name: "Copy" }).first();
      await opened.expectBriefly("Copied", () => copy.click());
    },
  );
});
