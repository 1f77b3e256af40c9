// A short walk through the page, for every change: an operator signs in, sees each view once, releases
// a slot and signs out. The other suites say more about each view.
import { expect, test } from "bun:test";
import { callApi, startLicensedSite } from "./licensed-site.ts";
import { openOperation, sendForm } from "./docs-page.ts";
import { createToken, expectEventually, openSignedIn, PHONE } from "./operator-page.ts";

/** By the name of its link, something that a view shows only when it has its data. */
const VIEWS = {
  Slots: "1 slot in use",
  Queue: "No user waits",
  Rules: "There are no rules",
  Licenses: "CAD",
  Reports: "Products and features",
  "Audit log": "ada",
  Health: "No full check since the server started",
  Settings: "suite",
};

test("an operator signs in, sees every view without a script error, releases a slot and signs out", async () => {
  const site = await startLicensedSite({ CAD: ["--slots", "10"] });
  const token = await createToken(site);
  await callApi(site, "register", { product: "CAD", user: "ada" });
  const opened = await openSignedIn(site, token, "/");
  const { page } = opened;
  const main = page.locator("main");
  await page.getByText("1 of 10 slots in use").waitFor();
  await opened.checkLayouts("overview");
  for (const [name, text] of Object.entries(VIEWS)) {
    await page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
    await main.getByText(text).first().waitFor();
    await opened.checkAccessibility(name);
    await page.setViewportSize(PHONE);
    await opened.checkWidth(`${name}, phone`, PHONE.width);
    await page.setViewportSize({ width: 1280, height: 800 });
  }
  await page.getByRole("link", { name: "Slots", exact: true }).click();
  await page.getByRole("button", { name: "Release ada’s slot of CAD" }).click();
  await page.getByRole("button", { name: "Release the slot" }).click();
  await page.getByText("No slots in use").waitFor();
  const reply = await callApi(site, "unregister", { product: "CAD", user: "ada" });
  expect(reply.status).toBe(400);
  await openOperation(page, "get-api-admin-v1-status");
  expect(await sendForm(page)).toBe("200");
  await page.goBack();
  await opened.signOut();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await expectEventually(() => page.evaluate<number>("sessionStorage.length"), 0);
});
