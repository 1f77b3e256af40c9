// The first visit, and every later one: from an appliance that nobody has closed yet to a token that
// only this tab knows.
import { check, finish } from "../faults/rig.ts";
import { BERTH } from "../support/vendor-and-site.ts";
import { Opened, serveSite } from "./opened.ts";

const site = await serveSite();
const first = await Opened.at(site.url);
const { page } = first;

await page.getByText("Anybody on this machine can administer").waitFor();
check(
  "a first visit shows that there is no license yet",
  await page.getByText("No license yet").isVisible(),
);
await first.checkAccess("first visit");
await first.picture("first-visit");
const ground = () => page.evaluate(`getComputedStyle(document.body).backgroundColor`);
const day = await ground();
await page.getByRole("button", { name: "Switch to dark" }).click();
check("who wants it dark has it dark", (await ground()) === "rgb(15, 23, 25)", await ground());
await first.checkAccess("first visit in the dark");
await page.getByRole("button", { name: "Switch to light" }).click();
check("and light again", (await ground()) === day, await ground());

await page.getByRole("button", { name: "Make the token" }).click();
const token = (await page.locator("dialog code").textContent()) ?? "";
check("the token is shown once", token.startsWith("berth_"), token.length);
await first.checkAccess("the token");
await page.getByRole("button", { name: "I have kept it" }).click();
await page.getByRole("button", { name: "Sign out" }).waitFor();
check(
  "and this tab is signed in with it",
  await page.getByText("live", { exact: true }).isVisible(),
);

await page.reload();
await page.getByRole("heading", { name: "Sign in" }).waitFor();
await first.checkAccess("sign in");
await first.picture("sign-in");
const stored = await page.evaluate(
  `JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])`,
);
check("a reload forgets the token: it is kept nowhere", stored === '[{},{},""]', stored);

await page.getByLabel("Administration token").fill("berth_wrong");
await page.getByRole("button", { name: "Sign in" }).first().click();
await page.getByRole("alert").waitFor();
check(
  "a wrong one is said to be wrong",
  await page.getByText("That was not accepted.").isVisible(),
);
await page.getByLabel("Administration token").fill(token);
await page.getByRole("button", { name: "Sign in" }).first().click();
await page.getByRole("navigation").waitFor();

BERTH.run("admin", "user", "list", "--data", site.folder);
await page.getByRole("button", { name: "Sign out" }).click();
await page.getByRole("heading", { name: "Sign in" }).waitFor();
check("signing out leads back", await page.getByLabel("Administration token").isVisible());

first.checkQuiet("the doors");
await first.close();
await site.stop();
finish();
