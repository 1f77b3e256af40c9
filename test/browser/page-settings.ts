// What an operator sets up: who gets in, whom the server believes, and how it is kept in order.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, finish, makeTempFolder } from "../support/suite-harness.ts";
import { runBinary } from "../support/binary.ts";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import { comesTrue, HOSTILE, isShown, OperatorPage, serveSite } from "./operator-page.ts";

const root = makeTempFolder();
const desk = join(root, "desk");
BERTH_COMMANDS.run(
  "vendor",
  "init",
  "--no-passphrase",
  "--name",
  `Acme ${HOSTILE}`,
  "--dir",
  desk,
  "--product",
  "cad",
);
const site = await serveSite(join(root, "site"));
const data = ["--data", site.folder];

const opened = await OperatorPage.open(`${site.url}#/settings`);
const { page } = opened;
await page.getByText("There is no credential yet").waitFor();
await opened.checkLayouts("settings-unclaimed");
await page.getByRole("button", { name: "Make a token" }).click();
await page.getByLabel("What it is for").fill("walker");
// A busy browser may not have the keyboard back when the second dialog comes. It may also take longer
// than the second that the page gives it; how long that is, is not looked at here.
await page.evaluate(`(() => {
  const { setTimeout: later } = globalThis;
  globalThis.setTimeout = (act, wait, ...given) => wait === 1_000 ? 0 : later(act, wait, ...given);
  globalThis.goOn = () => (globalThis.setTimeout = later);
  const [focus, made] = [HTMLElement.prototype.focus, "Make a token"];
  HTMLElement.prototype.focus = function () {
    if (this.textContent === made) HTMLElement.prototype.focus = focus;
    else focus.call(this);
  };
})()`);
await page.getByRole("dialog").getByRole("button", { name: "Make the token" }).click();
await page.locator("dialog .secret code").waitFor();
await page.getByRole("button", { name: "Sign out" }).waitFor({ state: "attached" });
check(
  "the first token signs this tab in, and stays there to be kept",
  await isShown(page.locator("dialog .secret code")),
);
await page.getByRole("button", { name: "I have kept it" }).click();
check(
  "the keyboard is back where it was",
  await opened.isEventually(`document.activeElement.textContent === "Make a token"`),
);
await page.evaluate("void goOn()");

const section = async (name: string): Promise<void> => {
  await page.getByRole("navigation", { name: "Sections" }).getByRole("link", { name }).click();
};

// Who may administer.
const own = page.getByRole("listitem").filter({ hasText: "walker" });
await own.waitFor();
check("the token one is signed in with is marked", await isShown(own.getByText("you")));
await page.getByRole("button", { name: "Revoke the token walker" }).click();
await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
await page.getByRole("dialog").getByRole("alert").waitFor();
check(
  "the last administrator credential is not removed, and the server says why",
  await isShown(page.getByText("this is the last administrator credential")),
);
await opened.checkAccessibility("a refused act");
await page.keyboard.press("Escape");

await page.getByRole("button", { name: "Make a token" }).click();
await page.getByLabel("What it is for").fill("backup job");
await page.getByRole("button", { name: "Make the token" }).click();
await page.getByRole("dialog").getByRole("alert").waitFor();
check(
  "a name that will not do is said so beside it",
  await isShown(page.getByText("name must be 1 to 64 letters")),
);
await opened.checkLayouts("settings-new-token");
await page.getByLabel("What it is for").fill("backup-job");
await page.getByRole("button", { name: "Make the token" }).click();
const made = (await page.locator("dialog .secret code").textContent()) ?? "";
const works = async (one: string): Promise<boolean> =>
  (await fetch(`${site.url}api/admin/v1/status`, { headers: { authorization: `Bearer ${one}` } }))
    .ok;
check("a token is made, shown once, and it works", await works(made));
await page.getByRole("button", { name: "I have kept it" }).click();
check(
  "and it is gone from the page",
  await comesTrue(async () => !(await page.content()).includes(made)),
);
await page.getByRole("button", { name: "Revoke the token backup-job" }).click();
await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
await page
  .getByRole("button", { name: "Revoke the token backup-job" })
  .waitFor({ state: "detached" });
check("revoked, it is refused at once", !(await works(made)));

await page.getByRole("button", { name: "Add a user" }).click();
await page.getByLabel("Name", { exact: true }).fill(HOSTILE);
await page.getByLabel("Password").fill("short");
await page.getByRole("button", { name: "Save" }).click();
await page.getByRole("dialog").getByRole("alert").waitFor();
await page.getByLabel("Password").fill("a long enough password");
await page.getByRole("button", { name: "Save" }).click();
await page.getByRole("button", { name: `Remove the user ${HOSTILE}` }).waitFor();
check("a user's name is shown as it is", await isShown(page.getByText(HOSTILE).first()));
await opened.checkLayouts("settings-access");

// Trust.
await section("Trust");
await page.getByText("No vendor is trusted yet").waitFor();
const choose = async (path: string): Promise<void> => {
  const answered = page.waitForResponse(/trust\/show$/);
  await page.getByLabel("Choose a file: the vendor’s trust file").setInputFiles(path);
  await answered;
};
const refused = page.locator(".file-drop").getByRole("alert");
const junk = join(root, "junk.jwt");
writeFileSync(junk, "not.a.vendor");
await choose(junk);
await refused.waitFor();
const altered = join(root, "altered.jwt");
const trust = readFileSync(join(desk, "trust.jwt"), "utf8").trim();
const [head = "", body = "", signature = ""] = trust.split(".");
writeFileSync(altered, `${head}.${body}.A${signature.slice(1)}`);
await choose(altered);
await refused.waitFor();
check("an altered file is refused", (await list()).length === 0);
await choose(join(desk, "trust.jwt"));
const shown = (await page.locator(".fingerprint").textContent()) ?? "";
check("nothing is accepted before it was compared", (await list()).length === 0);
await opened.checkLayouts("settings-compare");
await page.getByRole("button", { name: "It is the same: accept" }).click();
await page.getByRole("button", { name: `Remove the vendor Acme ${HOSTILE}` }).waitFor();
const [vendor] = await list();
check("the fingerprint compared is the vendor's", shown === vendor?.fingerprint, [shown, vendor]);
const request = join(root, "request.jwt");
const license = join(root, "license.jwt");
BERTH_COMMANDS.run("license", "request", ...data, "--product", "cad", "--out", request);
const terms = ["--slots", "2", "--allow-weak-binding", "--out", license];
BERTH_COMMANDS.run("vendor", "issue", "--dir", desk, "--request", request, ...terms);
BERTH_COMMANDS.run("license", "add", license, ...data);
await page.getByRole("button", { name: `Remove the vendor Acme ${HOSTILE}` }).click();
await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
await page.getByText("licenses of this vendor are installed").waitFor();
check("a vendor in use stays", (await list()).length === 1);
await page.keyboard.press("Escape");
await opened.checkLayouts("settings-trust");

// Cloud keys.
await section("Cloud keys");
await page.getByLabel("API key").fill("key-that-is-secret");
await page.getByLabel("Shared key").fill("shared-that-is-secret");
await page.getByRole("button", { name: "Set the keys" }).click();
await page.getByText("Set just now: the API key, the shared key.").waitFor();
const values = await page.evaluate<string>(
  "[...document.querySelectorAll('input')].map((one) => one.value).join('')",
);
check(
  "keys go in and are nowhere on the page afterwards",
  values === "" && !(await page.content()).includes("that-is-secret"),
  values,
);
await opened.checkLayouts("settings-keys");

// TLS and networks.
await section("TLS and networks");
await page
  .getByRole("cell", { name: "client_auth" })
  .or(page.getByRole("rowheader", { name: "client_auth" }))
  .waitFor();
check("exposures are listed with their remedies", await isShown(page.getByText("Remedy:").first()));
await opened.checkLayouts("settings-network");

// Clock.
await section("Clock");
await page.getByText("The machine’s clock is followed.").waitFor();
await opened.checkLayouts("settings-clock");

// Care.
await section("Maintenance");
await page.getByRole("button", { name: "Look again" }).waitFor();
check(
  "nothing is said to be whole before anybody looked",
  await isShown(page.getByText("Not checked yet.")),
);
await page.getByRole("button", { name: "Check the chain" }).click();
await page.getByText("The audit log is intact.").waitFor();
await opened.checkLayouts("settings-care");
const files = join(root, "saved");
mkdirSync(files);
const saved = async (button: string, isAsked: boolean): Promise<string> => {
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: button }).click();
  if (isAsked) {
    await page.getByText("It holds the appliance’s key").waitFor();
    check("a backup says what it holds", true);
    await page.getByRole("dialog").getByRole("button", { name: button }).click();
  }
  const path = join(files, (await download).suggestedFilename());
  await (await download).saveAs(path);
  return path;
};
const backup = await saved("Save a backup", true);
const { code, stderr } = await runBinary(["verify", backup]);
check("a backup saved by the page is whole", code === 0, stderr);
const bundle = await saved("Save a support bundle", false);
const inside = Bun.spawnSync(["tar", "-tf", bundle]);
check("a support bundle can be opened", inside.exitCode === 0, inside.stderr.toString());

// On the machine, and about it.
await section("On the machine");
await page.getByText("berth move out site.move").waitFor();
await opened.checkLayouts("settings-machine");
await section("About");
await page.getByText("elysia", { exact: false }).first().waitFor();
await opened.checkLayouts("settings-about");

opened.checkNoErrors("settings");
await opened.close();
await site.stop();
finish();

async function list(): Promise<{ readonly fingerprint: string }[]> {
  return JSON.parse(BERTH_COMMANDS.run("trust", "list", ...data, "--json")) as {
    fingerprint: string;
  }[];
}
