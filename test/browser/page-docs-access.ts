// The documentation by every way in: by keyboard, on a phone, in the dark, with a token, and at an
// address where a browser says little of where a request comes from.
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { check, finish, makeTempFolder, skip } from "../support/suite-harness.ts";
import { fillField, openOperation, readStatus, sendForm, serveDemo } from "./docs-page.ts";
import { comesTrue, OperatorPage, serveSite } from "./operator-page.ts";

const demo = await serveDemo("127.0.0.1", join(makeTempFolder(), "demo"));
await checkKeyboard();
for (const scheme of ["light", "dark"] as const) {
  await checkLook(scheme, "desk", { width: 1440, height: 900 });
  await checkLook(scheme, "phone", { width: 390, height: 844 });
}
await demo.stop();
await checkToken();
await checkPlainAddress();
finish();

/** From the address bar to an answer without a mouse. */
async function checkKeyboard(): Promise<void> {
  const opened = await OperatorPage.open(`${demo.url}/api/v4/docs`);
  const { keyboard } = opened.page;
  await opened.page.getByRole("heading", { name: "How to call" }).waitFor();
  await keyboard.press("Tab");
  const focused = (): Promise<string> =>
    opened.page.evaluate<string>(
      `document.activeElement.getAttribute("aria-label") ?? (document.activeElement.type === "search"
        ? "search" : document.activeElement.textContent)`,
    );
  check("the first stop skips to the content", (await focused()) === "Skip to the content");
  const reach = async (what: string): Promise<boolean> => {
    for (let stops = 0; stops < 60; stops += 1) {
      if ((await focused()) === what) return true;
      await keyboard.press("Tab");
    }
    return false;
  };
  check("the search can be reached", await reach("search"));
  await keyboard.type("api/v4/borrow");
  await keyboard.press("Enter");
  await opened.page.getByRole("heading", { name: "Borrow a license slot for a user" }).waitFor();
  // Whoever chose it is taken to where it begins: from there it is a few stops.
  await opened.isEventually(`document.activeElement.id === "view"`);
  check("the button can be reached", await reach("Send"));
  await keyboard.press("Enter");
  check("and the call is made", (await readStatus(opened.page)) === "200");
  check("focus stays where it was", (await focused()) === "Send");
  opened.checkNoErrors("by keyboard");
  await opened.close();
}

async function checkLook(
  colorScheme: "light" | "dark",
  device: string,
  viewport: { readonly width: number; readonly height: number },
): Promise<void> {
  const opened = await OperatorPage.open(`${demo.url}/api/v4/docs`, { colorScheme, viewport });
  const what = `${device}, ${colorScheme}`;
  await opened.page.getByRole("heading", { name: "How to call" }).waitFor();
  await opened.checkAccessibility(`how to call, ${what}`);
  await opened.saveScreenshot(`docs-${device}-${colorScheme}-how-to-call`);
  if (device === "phone") {
    await opened.page.getByText("Operations", { exact: true }).click();
    await opened.checkAccessibility(`the index, ${what}`);
    await opened.saveScreenshot(`docs-${device}-${colorScheme}-index`);
    await opened.page.locator('.index a[href="#get-api-v4-license"]').click();
    await opened.page.getByRole("heading", { name: "Get a license" }).waitFor();
    check(`the index folds away once something is chosen, ${what}`, await isFolded(opened.page));
  } else {
    await openOperation(opened.page, "get-api-v4-license");
  }
  await opened.saveScreenshot(`docs-${device}-${colorScheme}`);
  await opened.page.getByText("What product_features holds").click();
  check(`GET with a query, ${what}`, (await sendForm(opened.page)) === "200");
  await opened.checkAccessibility(`a call and its answer, ${what}`);
  await opened.page.locator(".answer").scrollIntoViewIfNeeded();
  await opened.saveScreenshot(`docs-${device}-${colorScheme}-answer`);
  const spill = await opened.page.evaluate<number>(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  check(`nothing sticks out sideways, ${what}`, spill === 0, spill);
  opened.checkNoErrors(what);
  await opened.close();
}

async function isFolded(on: Page): Promise<boolean> {
  return comesTrue(async () => (await on.locator(".index details[open]").count()) === 0);
}

/** A token made on the page is used by it, and forgotten by a reload. */
async function checkToken(): Promise<void> {
  const site = await serveSite();
  const opened = await OperatorPage.open(`${site.url}/api/v4/docs`);
  await openOperation(opened.page, "post-api-admin-v1-access-tokens");
  await fillField(opened.page, "name", "me");
  check("the first token is made", (await sendForm(opened.page)) === "200");
  await opened.page.getByRole("button", { name: "Use this token here" }).click();
  await openOperation(opened.page, "get-api-admin-v1-status");
  check("and opens what it closed", (await sendForm(opened.page)) === "200");
  const line = await opened.page.locator(".answer .curl code").textContent();
  check("the line names it without showing it", /Bearer \$BERTH_TOKEN/.test(line ?? ""), line);
  await opened.page.reload();
  await opened.page.getByRole("heading", { name: "Try it" }).waitFor();
  check("a reload forgets it", (await sendForm(opened.page)) === "401");
  const said = await opened.page.getByRole("alert").textContent();
  check("and the server says what it wants", said?.includes("berth admin token") === true, said);
  const stored = await opened.page.evaluate(
    "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])",
  );
  check("it is kept nowhere", stored === '[{},{},""]', stored);
  await openOperation(opened.page, "get-auth");
  await fillField(opened.page, "Name", "ada");
  await fillField(opened.page, "Password", "a wrong one");
  check(
    "a wrong password is answered, not asked for again",
    (await sendForm(opened.page)) === "401",
  );
  const wrong = await opened.page.getByRole("alert").textContent();
  check("in words", wrong?.includes("the name or the password is wrong") === true, wrong);
  await opened.checkAccessibility("a login");
  opened.checkNoErrors("with a token");
  await opened.close();
  await site.stop();
}

/** In plain HTTP from another machine a browser tells less of where a request comes from. */
async function checkPlainAddress(): Promise<void> {
  const address = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal)?.address;
  if (address === undefined) return skip("calls at a plain address", "this machine has none");
  const plain = await serveDemo(address, join(makeTempFolder(), "demo"));
  const opened = await OperatorPage.open(`${plain.url}/api/v4/docs`);
  for (const id of ["post-api-v4-register", "get-api-v4-license", "get-api-v4-setKeys"]) {
    await openOperation(opened.page, id);
    const going = opened.page.waitForRequest((request) => request.resourceType() === "fetch");
    const [request, status] = await Promise.all([going, sendForm(opened.page)]);
    const headers = await request.allHeaders();
    const told = { site: headers["sec-fetch-site"], referer: headers["referer"] };
    check(`${id} at ${address}, which tells no more than a Referer`, status === "200", told);
    check(
      `${id}: no Sec-Fetch-Site, and our own page as the Referer`,
      told.site === undefined && told.referer === `${plain.url}/api/v4/docs`,
      told,
    );
  }
  const copy = opened.page.getByRole("button", { name: "Copy" }).first();
  check(
    "a line is copied where browsers have no clipboard for scripts",
    await opened.flashes("Copied", () => copy.click()),
  );
  opened.checkNoErrors("at a plain address");
  await opened.close();
  await plain.stop();
}
