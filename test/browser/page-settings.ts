// The Settings page: access, vendors, cloud keys, network, clock, maintenance and command line.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, finish, makeTempFolder } from "../support/suite-harness.ts";
import { runBinary } from "../support/binary.ts";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import { isEventuallyTrue, HOSTILE, isShown, OperatorPage, serveSite } from "./operator-page.ts";

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
await page.getByText("There is no admin credential yet").waitFor();
await opened.checkLayouts("settings-unclaimed");
await page.getByRole("button", { name: "Create a token" }).click();
await page.getByLabel("Token name").fill("laptop");
// In a busy browser the focus may not be back on its button when the second dialog opens: the
// script delays it. It may also return after the second that the page waits; that timeout is
// switched off.
await page.evaluate(`(() => {
  const { setTimeout: original } = globalThis;
  globalThis.setTimeout = (act, wait, ...args) => wait === 1_000 ? 0 : original(act, wait, ...args);
  globalThis.restoreTimeout = () => (globalThis.setTimeout = original);
  const { focus } = HTMLElement.prototype;
  HTMLElement.prototype.focus = function () {
    if (this.textContent === "Create a token") HTMLElement.prototype.focus = focus;
    else focus.call(this);
  };
})()`);
await page.getByRole("dialog").getByRole("button", { name: "Create the token" }).click();
await page.locator("dialog .secret code").waitFor();
await page.getByRole("button", { name: "Sign out" }).waitFor({ state: "attached" });
check(
  "the first token signs the tab in and stays shown until the operator has saved it",
  await isShown(page.locator("dialog .secret code")),
);
await page.getByRole("button", { name: "I have saved it" }).click();
check(
  "after the dialogs the focus is back on the button that opened them",
  await opened.isEventually(`document.activeElement.textContent === "Create a token"`),
);
await page.evaluate("void restoreTimeout()");

const openSection = async (name: string): Promise<void> => {
  await page.getByRole("navigation", { name: "Sections" }).getByRole("link", { name }).click();
};

// Access.
const ownToken = page.getByRole("listitem").filter({ hasText: "laptop" });
await ownToken.waitFor();
check("the token of this session is marked in the list", await isShown(ownToken.getByText("you")));
await page.getByRole("button", { name: "Revoke the token laptop" }).click();
await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
await page.getByRole("dialog").getByRole("alert").waitFor();
check(
  "revoking the last administrator credential is refused with the reason",
  await isShown(page.getByText("this is the last administrator credential")),
);
await opened.checkAccessibility("settings page, a refused revocation");
await page.keyboard.press("Escape");

await page.getByRole("button", { name: "Create a token" }).click();
await page.getByLabel("Token name").fill("backup job");
await page.getByRole("button", { name: "Create the token" }).click();
await page.getByRole("dialog").getByRole("alert").waitFor();
check(
  "an invalid token name shows an error in the dialog",
  await isShown(page.getByText("name must be 1 to 64 letters")),
);
await opened.checkLayouts("settings-new-token");
await page.getByLabel("Token name").fill("backup-job");
await page.getByRole("button", { name: "Create the token" }).click();
const newToken = (await page.locator("dialog .secret code").textContent()) ?? "";
const isAccepted = async (token: string): Promise<boolean> =>
  (await fetch(`${site.url}api/admin/v1/status`, { headers: { authorization: `Bearer ${token}` } }))
    .ok;
check("a token created on the page is accepted by the server", await isAccepted(newToken));
await page.getByRole("button", { name: "I have saved it" }).click();
check(
  "after the dialog is closed the new token is no longer on the page",
  await isEventuallyTrue(async () => !(await page.content()).includes(newToken)),
);
await page.getByRole("button", { name: "Revoke the token backup-job" }).click();
await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
await page
  .getByRole("button", { name: "Revoke the token backup-job" })
  .waitFor({ state: "detached" });
check("a revoked token is refused", !(await isAccepted(newToken)));

await page.getByRole("button", { name: "Add a user" }).click();
await page.getByLabel("Name", { exact: true }).fill(HOSTILE);
await page.getByLabel("Password").fill("short");
await page.getByRole("button", { name: "Save" }).click();
await page.getByRole("dialog").getByRole("alert").waitFor();
await page.getByLabel("Password").fill("a long enough password");
await page.getByRole("button", { name: "Save" }).click();
await page.getByRole("button", { name: `Remove the user ${HOSTILE}` }).waitFor();
check("a user name that is HTML is shown as text", await isShown(page.getByText(HOSTILE).first()));
await opened.checkLayouts("settings-access");

// Vendors.
await openSection("Vendors");
await page.getByText("No vendor is trusted yet").waitFor();
const chooseTrustFile = async (path: string): Promise<void> => {
  const response = page.waitForResponse(/trust\/show$/);
  await page.getByLabel("Choose a file: the vendor’s trust file").setInputFiles(path);
  await response;
};
const fileAlert = page.locator(".file-drop").getByRole("alert");
const junk = join(root, "junk.jwt");
writeFileSync(junk, "not.a.vendor");
await chooseTrustFile(junk);
await fileAlert.waitFor();
const altered = join(root, "altered.jwt");
const trust = readFileSync(join(desk, "trust.jwt"), "utf8").trim();
const [head = "", body = "", signature = ""] = trust.split(".");
writeFileSync(altered, `${head}.${body}.A${signature.slice(1)}`);
await chooseTrustFile(altered);
await fileAlert.waitFor();
check("an altered trust file is refused and trusts no vendor", (await listVendors()).length === 0);
await chooseTrustFile(join(desk, "trust.jwt"));
const fingerprint = (await page.locator(".fingerprint").textContent()) ?? "";
check(
  "choosing a trust file does not trust the vendor before the operator confirms it",
  (await listVendors()).length === 0,
);
await opened.checkLayouts("settings-fingerprint");
await page.getByRole("button", { name: "Fingerprint matches: trust" }).click();
await page.getByRole("button", { name: `Remove the vendor Acme ${HOSTILE}` }).waitFor();
const [vendor] = await listVendors();
check("the fingerprint shown is that of the trusted vendor", fingerprint === vendor?.fingerprint, [
  fingerprint,
  vendor,
]);
const request = join(root, "request.jwt");
const license = join(root, "license.jwt");
BERTH_COMMANDS.run("license", "request", ...data, "--product", "cad", "--out", request);
const terms = ["--slots", "2", "--allow-weak-binding", "--out", license];
BERTH_COMMANDS.run("vendor", "issue", "--dir", desk, "--request", request, ...terms);
BERTH_COMMANDS.run("license", "add", license, ...data);
await page.getByRole("button", { name: `Remove the vendor Acme ${HOSTILE}` }).click();
await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
await page.getByText("licenses of this vendor are installed").waitFor();
check("a vendor whose license is installed cannot be removed", (await listVendors()).length === 1);
await page.keyboard.press("Escape");
await opened.checkLayouts("settings-trust");

// Cloud keys.
await openSection("Cloud keys");
await page.getByLabel("API key").fill("key-that-is-secret");
await page.getByLabel("Shared key").fill("shared-that-is-secret");
await page.getByRole("button", { name: "Set the keys" }).click();
await page.getByText("Saved: the API key, the shared key.").waitFor();
const values = await page.evaluate<string>(
  "[...document.querySelectorAll('input')].map(({ value }) => value).join('')",
);
check(
  "after the cloud keys are saved they are nowhere on the page",
  values === "" && !(await page.content()).includes("that-is-secret"),
  values,
);
await opened.checkLayouts("settings-keys");

// TLS and networks.
await openSection("TLS and networks");
await page
  .getByRole("cell", { name: "client_auth" })
  .or(page.getByRole("rowheader", { name: "client_auth" }))
  .waitFor();
check("exposures are listed with their remedies", await isShown(page.getByText("Remedy:").first()));
await opened.checkLayouts("settings-network");

// Clock.
await openSection("Clock");
await page.getByText("In sync with the system clock.").waitFor();
await opened.checkLayouts("settings-clock");

// Maintenance.
await openSection("Maintenance");
await page.getByRole("button", { name: "Run again" }).waitFor();
check(
  "an audit log that was not verified is shown as not verified",
  await isShown(page.getByText("Not verified yet.")),
);
await page.getByRole("button", { name: "Verify the audit log" }).click();
await page.getByText("The audit log is intact.").waitFor();
await opened.checkLayouts("settings-maintenance");
const downloads = join(root, "downloads");
mkdirSync(downloads);
const saveFile = async (button: string, hasDialog: boolean): Promise<string> => {
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: button }).click();
  if (hasDialog) {
    await page.getByText("It holds the appliance’s key").waitFor();
    check("saving a backup asks first and says that it holds the key of the appliance", true);
    await page.getByRole("dialog").getByRole("button", { name: button }).click();
  }
  const path = join(downloads, (await download).suggestedFilename());
  await (await download).saveAs(path);
  return path;
};
const backup = await saveFile("Save a backup", true);
const { code, stderr } = await runBinary(["verify", backup]);
check("berth verify accepts a backup saved by the page", code === 0, stderr);
const bundle = await saveFile("Save a support bundle", false);
const listing = Bun.spawnSync(["tar", "-tf", bundle]);
check(
  "tar can list a support bundle saved by the page",
  listing.exitCode === 0,
  listing.stderr.toString(),
);

// Command line and About.
await openSection("Command line");
await page.getByText("berth move out site.move").waitFor();
await opened.checkLayouts("settings-command-line");
await openSection("About");
await page.getByText("elysia", { exact: false }).first().waitFor();
await opened.checkLayouts("settings-about");

opened.checkNoErrors("the settings page");
await opened.close();
await site.stop();
finish();

async function listVendors(): Promise<{ readonly fingerprint: string }[]> {
  return JSON.parse(BERTH_COMMANDS.run("trust", "list", ...data, "--json")) as {
    fingerprint: string;
  }[];
}
