// The API documentation page by keyboard, on a phone, in the dark theme, with a token, and over
// plain HTTP at a network address, where browsers send no Sec-Fetch-Site.
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { check, finish, makeTempFolder, skip } from "../support/suite-harness.ts";
import { fillField, openOperation, readStatus, sendForm, serveDemo } from "./docs-page.ts";
import { isEventuallyTrue, OperatorPage, serveSite } from "./operator-page.ts";

const demo = await serveDemo("127.0.0.1", join(makeTempFolder(), "demo"));
await checkKeyboard();
for (const scheme of ["light", "dark"] as const) {
  await checkScreen(scheme, "desktop", { width: 1440, height: 900 });
  await checkScreen(scheme, "phone", { width: 390, height: 844 });
}
await demo.stop();
await checkToken();
await checkPlainAddress();
finish();

/** From the address bar to an answer by keyboard alone. */
async function checkKeyboard(): Promise<void> {
  const opened = await OperatorPage.open(`${demo.url}/api/v4/docs`);
  const { keyboard } = opened.page;
  await opened.page.getByRole("heading", { name: "How to call" }).waitFor();
  await keyboard.press("Tab");
  const focusedName = (): Promise<string> =>
    opened.page.evaluate<string>(
      `document.activeElement.getAttribute("aria-label") ?? (document.activeElement.type === "search"
        ? "search" : document.activeElement.textContent)`,
    );
  check(
    "the first Tab on the docs page reaches the link that skips to the content",
    (await focusedName()) === "Skip to the content",
  );
  const reachByTab = async (name: string): Promise<boolean> => {
    for (let stops = 0; stops < 60; stops += 1) {
      if ((await focusedName()) === name) return true;
      await keyboard.press("Tab");
    }
    return false;
  };
  check("Tab reaches the search field of the docs page", await reachByTab("search"));
  await keyboard.type("api/v4/borrow");
  await keyboard.press("Enter");
  await opened.page.getByRole("heading", { name: "Borrow a license slot for a user" }).waitFor();
  // Choosing an operation moves the focus to its beginning; Send is a few Tabs away.
  await opened.isEventually(`document.activeElement.id === "view"`);
  check("Tab reaches the Send button of an operation", await reachByTab("Send"));
  await keyboard.press("Enter");
  check("Enter on the Send button sends the request", (await readStatus(opened.page)) === "200");
  check("the focus stays on the Send button after the answer", (await focusedName()) === "Send");
  opened.checkNoErrors("the docs page by keyboard");
  await opened.close();
}

async function checkScreen(
  colorScheme: "light" | "dark",
  device: string,
  viewport: { readonly width: number; readonly height: number },
): Promise<void> {
  const opened = await OperatorPage.open(`${demo.url}/api/v4/docs`, { colorScheme, viewport });
  const screen = `${device}, ${colorScheme}`;
  await opened.page.getByRole("heading", { name: "How to call" }).waitFor();
  await opened.checkAccessibility(`docs page, how to call, ${screen}`);
  await opened.saveScreenshot(`docs-${device}-${colorScheme}-how-to-call`);
  if (device === "phone") {
    await opened.page.getByText("Operations", { exact: true }).click();
    await opened.checkAccessibility(`docs page, the index, ${screen}`);
    await opened.saveScreenshot(`docs-${device}-${colorScheme}-index`);
    await opened.page.locator('.index a[href="#get-api-v4-license"]').click();
    await opened.page.getByRole("heading", { name: "Get a license" }).waitFor();
    check(
      `choosing an operation closes the index of the docs page: ${screen}`,
      await isIndexClosed(opened.page),
    );
  } else {
    await openOperation(opened.page, "get-api-v4-license");
  }
  await opened.saveScreenshot(`docs-${device}-${colorScheme}`);
  await opened.page.getByText("Fields of product_features").click();
  check(
    `a GET operation can be called from the docs page: ${screen}`,
    (await sendForm(opened.page)) === "200",
  );
  await opened.checkAccessibility(`docs page, an operation and its answer, ${screen}`);
  await opened.page.locator(".response").scrollIntoViewIfNeeded();
  await opened.saveScreenshot(`docs-${device}-${colorScheme}-answer`);
  const overflow = await opened.page.evaluate<number>(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  check(`the docs page is no wider than the screen: ${screen}`, overflow === 0, overflow);
  opened.checkNoErrors(`the docs page, ${screen}`);
  await opened.close();
}

async function isIndexClosed(page: Page): Promise<boolean> {
  return isEventuallyTrue(async () => (await page.locator(".index details[open]").count()) === 0);
}

/** A token created on the page can be used there; a reload forgets it. */
async function checkToken(): Promise<void> {
  const site = await serveSite();
  const opened = await OperatorPage.open(`${site.url}/api/v4/docs`);
  await openOperation(opened.page, "post-api-admin-v1-access-tokens");
  await fillField(opened.page, "name", "me");
  check(
    "the first admin token can be created from the docs page",
    (await sendForm(opened.page)) === "200",
  );
  await opened.page.getByRole("button", { name: "Use this token here" }).click();
  await openOperation(opened.page, "get-api-admin-v1-status");
  check(
    "the docs page sends the new token with the next request",
    (await sendForm(opened.page)) === "200",
  );
  const command = await opened.page.locator(".response .curl code").textContent();
  check(
    "the curl command uses $BERTH_TOKEN and does not show the token",
    /Bearer \$BERTH_TOKEN/.test(command ?? ""),
    command,
  );
  await opened.page.reload();
  await opened.page.getByRole("heading", { name: "Try it" }).waitFor();
  check("after a reload the docs page sends no token", (await sendForm(opened.page)) === "401");
  const alert = await opened.page.getByRole("alert").textContent();
  check(
    "a call without a token shows the command that creates one",
    alert?.includes("berth admin token") === true,
    alert,
  );
  const stored = await opened.page.evaluate(
    "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])",
  );
  check("the docs page stores the token nowhere in the browser", stored === '[{},{},""]', stored);
  await openOperation(opened.page, "get-auth");
  await fillField(opened.page, "Name", "ada");
  await fillField(opened.page, "Password", "a wrong one");
  check(
    "a wrong password is answered with 401 and without a password dialog of the browser",
    (await sendForm(opened.page)) === "401",
  );
  const loginAlert = await opened.page.getByRole("alert").textContent();
  check(
    "the docs page shows the server's message for a wrong password",
    loginAlert?.includes("the name or the password is wrong") === true,
    loginAlert,
  );
  await opened.checkAccessibility("docs page, a refused login");
  opened.checkNoErrors("the docs page with a token");
  await opened.close();
  await site.stop();
}

/**
 * Over plain HTTP at a network address, browsers send only a Referer as the origin of a request.
 */
async function checkPlainAddress(): Promise<void> {
  const address = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal)?.address;
  if (address === undefined)
    return skip("the docs page over plain HTTP", "this machine has no network address");
  const plain = await serveDemo(address, join(makeTempFolder(), "demo"));
  const opened = await OperatorPage.open(`${plain.url}/api/v4/docs`);
  for (const id of ["post-api-v4-register", "get-api-v4-license", "get-api-v4-setKeys"]) {
    await openOperation(opened.page, id);
    const sentRequest = opened.page.waitForRequest((request) => request.resourceType() === "fetch");
    const [request, status] = await Promise.all([sentRequest, sendForm(opened.page)]);
    const headers = await request.allHeaders();
    const origin = { site: headers["sec-fetch-site"], referer: headers["referer"] };
    check(`${id} can be called over plain HTTP at ${address}`, status === "200", origin);
    check(
      `over plain HTTP the browser sends only a Referer with ${id}, and no Sec-Fetch-Site`,
      origin.site === undefined && origin.referer === `${plain.url}/api/v4/docs`,
      origin,
    );
  }
  const copy = opened.page.getByRole("button", { name: "Copy" }).first();
  check(
    "the curl command can be copied where browsers give scripts no clipboard",
    await opened.showsBriefly("Copied", () => copy.click()),
  );
  opened.checkNoErrors("the docs page over plain HTTP");
  await opened.close();
  await plain.stop();
}
