// The Settings page: access, general, vendors, cloud keys, network, clock, maintenance and about.
import { beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { makeTempFolder } from "../support/suite-harness.ts";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import {
  createToken,
  expectEventually,
  HOSTILE,
  openSignedIn,
  OperatorPage,
  serveSite,
  type ServedSite,
} from "./operator-page.ts";
import { createVendorDesk } from "./vendor-desk.ts";

const OWN_TOKEN = "laptop";

let root: string;
let site: ServedSite;
let token: string;

beforeAll(async () => {
  root = makeTempFolder();
  site = await serveSite();
  token = await createToken(site, OWN_TOKEN);
});

test("the first token signs the tab in, and its dialogs give the focus back to their button", async () => {
  const { url } = await serveSite();
  const opened = await OperatorPage.open(`${url}#/settings`);
  const { page } = opened;
  await page.getByText("There is no admin credential yet").waitFor();
  await opened.checkLayouts("settings-unclaimed");
  await page.getByRole("button", { name: "Create a token" }).click();
  await page.getByLabel("Token name").fill("laptop");
  // In a busy browser the focus may not be back on its button when the second dialog opens: the
  // script prevents that it returns.
  await page.evaluate(`(() => {
    const { focus } = HTMLElement.prototype;
    HTMLElement.prototype.focus = function () {
      if (this.textContent === "Create a token") HTMLElement.prototype.focus = focus;
      else focus.call(this);
    };
  })()`);
  await page.getByRole("dialog").getByRole("button", { name: "Create the token" }).click();
  await page.locator("dialog .secret code").waitFor();
  await page.getByRole("button", { name: /^Menu of / }).waitFor({ state: "attached" });
  // The token stays shown until the operator has saved it.
  await page.locator("dialog .secret code").waitFor();
  await page.getByRole("button", { name: "I have saved it" }).click();
  await opened.expectEventually("document.activeElement.textContent", "Create a token");
});

test("the list of tokens marks the own one, and the last administrator credential stays", async () => {
  const opened = await openSignedIn(site, token, "#/settings");
  const { page } = opened;
  const tokens = page.getByRole("table", { name: "Tokens" });
  await tokens.getByRole("row").filter({ hasText: OWN_TOKEN }).getByText("you").waitFor();
  await page.getByRole("button", { name: `Revoke the token ${OWN_TOKEN}` }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await dialog.getByRole("alert").waitFor();
  await page.getByText("this is the last administrator credential").waitFor();
  await opened.checkAccessibility("settings page, a refused revocation");
});

test("a token created on the page is shown once, works, and is refused once it is revoked", async () => {
  const opened = await openSignedIn(site, token, "#/settings");
  const { page } = opened;
  await page.getByRole("button", { name: "Create a token" }).click();
  await page.getByLabel("Token name").fill("backup job");
  await page.getByRole("button", { name: "Create the token" }).click();
  // Beside its field.
  const nameError = page.getByRole("dialog").locator(".field").getByRole("alert");
  await nameError.filter({ hasText: "“Token name” must be 1 to 64 letters" }).waitFor();
  await opened.checkLayouts("settings-new-token");
  await page.getByLabel("Token name").fill("backup-job");
  await page.getByRole("button", { name: "Create the token" }).click();
  const newToken = (await page.locator("dialog .secret code").textContent()) ?? "";
  expect(await isAccepted(newToken)).toBe(true);
  await page.getByRole("button", { name: "I have saved it" }).click();
  await expectEventually(async () => (await page.content()).includes(newToken), false);
  const revoke = page.getByRole("button", { name: "Revoke the token backup-job" });
  await revoke.click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await revoke.waitFor({ state: "detached" });
  expect(await isAccepted(newToken)).toBe(false);
});

test("a user is added once the name is no HTML and the password is long enough", async () => {
  const opened = await openSignedIn(site, token, "#/settings");
  const { page } = opened;
  const name = "zoë lovelace@drawing-office.plant-7.example";
  const save = async (user: string, password: string): Promise<void> => {
    await page.getByLabel("Name", { exact: true }).fill(user);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Save" }).click();
  };
  const alert = (text: string) =>
    page.getByRole("dialog").getByRole("alert").filter({ hasText: text }).waitFor();
  await page.getByRole("button", { name: "Add a user" }).click();
  await save(HOSTILE, "a long enough password");
  await alert("must be letters, digits");
  await save(name, "short");
  await alert("must be 12 characters");
  await save(name, "a long enough password");
  await page.getByRole("button", { name: `Remove the user ${name}` }).waitFor();
  // Nobody becomes an administrator by mistake.
  const users = page.getByRole("table", { name: "Users" });
  await users.getByRole("row").filter({ hasText: name }).getByText("User").first().waitFor();
  await opened.checkLayouts("settings-access");
});

test("a vendor is trusted only after its fingerprint is confirmed, and stays while its license is installed", async () => {
  const desk = createVendorDesk(join(root, "desk"), `Acme ${HOSTILE}`, "cad");
  const opened = await openSection("Vendors");
  const { page } = opened;
  await page.getByText("No vendor is trusted yet").waitFor();
  const fileAlert = page.locator(".file-drop").getByRole("alert");
  await chooseTrustFile(page, "not.a.vendor");
  await fileAlert.waitFor();
  const [head = "", body = "", signature = ""] = desk.trust.trim().split(".");
  await chooseTrustFile(page, `${head}.${body}.A${signature.slice(1)}`);
  await fileAlert.waitFor();
  expect(listVendors()).toEqual([]);
  await chooseTrustFile(page, desk.trust);
  const fingerprint = await page.locator(".fingerprint").textContent();
  expect(fingerprint).toBe(desk.fingerprint);
  expect(listVendors()).toEqual([]);
  await opened.checkLayouts("settings-fingerprint");
  await page.getByRole("button", { name: "Fingerprint matches: trust" }).click();
  const remove = page.getByRole("button", { name: `Remove the vendor Acme ${HOSTILE}` });
  await remove.waitFor();
  expect(listVendors()).toMatchObject([{ fingerprint: desk.fingerprint }]);
  const [request, license] = [join(root, "request.jwt"), join(root, "license.jwt")];
  const data = ["--data", site.folder];
  BERTH_COMMANDS.run("license", "request", ...data, "--product", "cad", "--out", request);
  writeFileSync(license, desk.issue(request, "--slots", "2"));
  BERTH_COMMANDS.run("license", "add", license, ...data);
  await remove.click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await page.getByText("licenses of this vendor are installed").waitFor();
  expect(listVendors()).toHaveLength(1);
  await page.keyboard.press("Escape");
  await opened.checkLayouts("settings-trust");
});

test("cloud keys are nowhere on the page after they are saved", async () => {
  const opened = await openSection("Cloud keys");
  const { page } = opened;
  await page.getByLabel("New API key").fill("key-that-is-secret");
  await page.getByLabel("New shared key").fill("shared-that-is-secret");
  // "Saved" must wait for this reply: "not set" beside it would be a contradiction.
  await page.route("**/api/admin/v1/settings", async (route) => {
    await Bun.sleep(500);
    await route.continue();
  });
  await page.getByRole("button", { name: "Set the keys" }).click();
  await page.getByText("Saved: the API key, the shared key.").waitFor();
  expect(await page.locator(".facts dd").allTextContents()).toEqual(["set", "set"]);
  const values = await page.evaluate<string>(
    "[...document.querySelectorAll('input')].map(({ value }) => value).join('')",
  );
  expect(values).toBe("");
  expect(await page.content()).not.toContain("that-is-secret");
  await opened.checkLayouts("settings-keys");
});

test("general settings show what differs before it is saved, and what was saved", async () => {
  const opened = await openSection("General");
  const { page } = opened;
  const name = page.getByLabel("Site name");
  await name.fill("Plant 4");
  await page.getByLabel("Expiry warning (days)").fill("60");
  const differences = page.locator(".differences dd");
  await expectEventually(async () => (await differences.allTextContents()).at(-1), "30 → 60");
  expect(readSettings()["site_name"]?.source).toBe("default");
  await opened.checkLayouts("settings-general-differences");
  await page.getByRole("button", { name: "Save changes" }).click();
  await page.getByText("Saved. It applies at once.").waitFor();
  await page.getByText("Expiry warning (days): 30 → 60").waitFor();
  expect(readSettings()["site_name"]).toEqual({ value: "Plant 4", source: "page" });
  expect(readSettings()["expiry_warning_days"]).toEqual({ value: "60", source: "page" });
  await name.fill("");
  await page.getByRole("button", { name: "Save changes" }).click();
  await page.getByText("Plant 4 →").first().waitFor();
  await expectEventually(async () => readSettings()["site_name"]?.source, "default");
});

test("a wrong value is refused beside its field, and nothing is changed", async () => {
  const opened = await openSection("General");
  const { page } = opened;
  const days = page.getByLabel("Expiry warning (days)");
  await days.fill("999");
  await page.getByLabel("Slots per user, at most").fill("3");
  await page.getByRole("button", { name: "Save changes" }).click();
  const error = page.locator(".field").filter({ has: days }).getByRole("alert");
  await error.waitFor();
  expect(await error.textContent()).toContain("must be a number of days from 1 to 365");
  await opened.expectEventually("document.activeElement.value", "999");
  expect(await days.getAttribute("aria-invalid")).toBe("true");
  expect(readSettings()["max_slots_per_user"]?.source).toBe("default");
  await opened.checkLayouts("settings-general-refused");
  await page.getByRole("button", { name: "Discard changes" }).click();
  expect(await page.locator(".differences").count()).toBe(0);
  expect(await error.count()).toBe(0);
  expect(await days.getAttribute("aria-invalid")).toBe("false");
});

test("all settings are listed with their sources and the reason why some are fixed", async () => {
  const opened = await openSection("General");
  const listen = opened.page.locator(".all-settings > li").filter({ hasText: "listen_tls" });
  await listen.waitFor();
  const names = await opened.page.locator(".all-settings > li > code").allTextContents();
  expect(names.length).toBeGreaterThan(18);
  expect(await listen.textContent()).toContain("a wrong address would cut off the page");
  await opened.checkLayouts("settings-general");
});

test("the network settings list exposures with their remedies", async () => {
  const opened = await openSection("Network");
  const { page } = opened;
  await page.getByLabel("Client networks").waitFor();
  await page.getByText("Remedy:").first().waitFor();
  await opened.checkLayouts("settings-network");
});

test("the clock settings show that the time is in sync with the system clock", async () => {
  const opened = await openSection("Clock");
  await opened.page.getByText("In sync with the system clock.").waitFor();
  await opened.checkLayouts("settings-clock");
});

test("the audit log can be verified in the maintenance settings, and is not verified before", async () => {
  const opened = await openSection("Maintenance");
  const { page } = opened;
  await page.getByRole("link", { name: "on the page Health" }).waitFor();
  await page.getByText("Not verified yet.").waitFor();
  await page.getByRole("button", { name: "Verify the audit log" }).click();
  await page.getByText("The audit log is intact.").waitFor();
  await opened.checkLayouts("settings-maintenance");
});

test("tar can list a support bundle saved by the page", async () => {
  const { page } = await openSection("Maintenance");
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save a support bundle" }).click();
  const path = join(root, (await download).suggestedFilename());
  await (await download).saveAs(path);
  const { exitCode, stderr } = Bun.spawnSync(["tar", "-tf", path]);
  expect({ exitCode, stderr: stderr.toString() }).toMatchObject({ exitCode: 0 });
});

test("the settings show the command line for what the page cannot do", async () => {
  const opened = await openSection("Command line");
  await opened.page.getByText("move out site.move").waitFor();
  await opened.checkLayouts("settings-command-line");
});

test("the settings name the packages that Berth contains", async () => {
  const opened = await openSection("About");
  await opened.page.getByText("Third-party notices").click();
  await opened.page.getByText("elysia", { exact: false }).first().waitFor();
  await opened.checkLayouts("settings-about");
});

async function openSection(name: string): Promise<OperatorPage> {
  const opened = await openSignedIn(site, token, "#/settings");
  const sections = opened.page.getByRole("navigation", { name: "Sections" });
  await sections.getByRole("link", { name }).click();
  return opened;
}

/** Chooses a file with this text, and waits for the server's answer. */
async function chooseTrustFile(page: Page, text: string): Promise<void> {
  const path = join(root, "trust.jwt");
  writeFileSync(path, text);
  const response = page.waitForResponse(/trust\/show$/);
  await page.getByLabel("Choose a file: the vendor’s trust file").setInputFiles(path);
  await response;
}

async function isAccepted(bearer: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${bearer}` };
  return (await fetch(`${site.url}api/admin/v1/status`, { headers })).ok;
}

function readSettings(): Record<string, { readonly value: string; readonly source: string }> {
  const output = BERTH_COMMANDS.run("config", "--data", site.folder, "--json");
  return JSON.parse(output) as Record<string, { value: string; source: string }>;
}

function listVendors(): { readonly fingerprint: string }[] {
  const output = BERTH_COMMANDS.run("trust", "list", "--data", site.folder, "--json");
  return JSON.parse(output) as { fingerprint: string }[];
}
