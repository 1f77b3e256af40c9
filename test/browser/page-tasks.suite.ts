// The tasks that operators do most, scripted as an operator does them: from the overview, with the
// mouse and the keyboard. Each has a limit for clicks and for fields to fill in; a redesign that
// needs more of them fails here.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import type { StatusReply } from "../../src/http/routes/health/status-schema.ts";
import { makeTempFolder } from "../support/suite-harness.ts";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import { callApi } from "./licensed-site.ts";
import { createToken, openSignedIn, serveSite, type ServedSite } from "./operator-page.ts";
import { createVendorDesk, dropFile, type VendorDesk } from "./vendor-desk.ts";

const DAY = 86_400_000;
const KEY = "HARBOUR-2027";

/** What an operator does with the page, counted. */
class Operator {
  readonly page: Page;
  clicks = 0;
  fields = 0;
  drops = 0;

  constructor(page: Page) {
    this.page = page;
  }

  async click(target: Locator): Promise<void> {
    this.clicks += 1;
    await target.first().click();
  }

  press(name: string | RegExp): Promise<void> {
    return this.click(this.page.getByRole("button", { name }));
  }

  follow(name: string | RegExp): Promise<void> {
    return this.click(this.page.getByRole("link", { name, exact: true }));
  }

  async fill(label: string, value: string): Promise<void> {
    this.fields += 1;
    await this.page.getByLabel(label, { exact: true }).first().fill(value);
  }

  async select(label: string, value: string): Promise<void> {
    this.fields += 1;
    await this.page.getByLabel(label, { exact: true }).selectOption(value);
  }

  async drop(text: string, name: string): Promise<void> {
    this.drops += 1;
    await dropFile(this.page, text, name);
  }

  /** Clicks the target, and returns the text of the file that it saves. */
  async save(target: Locator): Promise<{ readonly path: string; readonly size: number }> {
    const download = this.page.waitForEvent("download");
    await this.click(target);
    const path = join(makeTempFolder(), "saved");
    await (await download).saveAs(path);
    return { path, size: readFileSync(path).length };
  }
}

interface Limit {
  readonly clicks: number;
  readonly fields: number;
}

const report: Record<string, string | number>[] = [];
let desk: VendorDesk;
let site: ServedSite;
let token: string;
let policy: string;

beforeAll(async () => {
  const root = makeTempFolder();
  desk = createVendorDesk(join(root, "desk"), "Harbour Tools", "CAD", "SIM", "LATER");
  policy = join(root, "policy.jwt");
  const terms = [
    "--policy-id",
    "standard",
    "--product",
    "LATER",
    "--slots",
    "5",
    "--valid-until",
    "never",
  ];
  BERTH_COMMANDS.run("vendor", "policy", "--dir", desk.folder, ...terms, "--out", policy);
  site = await serveSite(join(root, "site"), "--expiry-warning-days", "60");
  token = await createToken(site, "operator");
  const data = ["--data", site.folder];
  BERTH_COMMANDS.run("trust", "add", join(desk.folder, "trust.jwt"), ...data, "--yes");
  installLicense("CAD", "--slots", "10", "--valid-until", dayAfter(300));
  installLicense("SIM", "--slots", "4", "--valid-until", dayAfter(45));
  for (const user of ["a.lovelace", "b.johnson", "c.mendoza"]) await register("CAD", user);
  for (const user of ["d.okafor", "e.lindqvist", "g.moreau", "h.novak"])
    await register("SIM", user);
  expect((await register("SIM", "f.tanaka")).status).toBe(400);
});

afterAll(() => console.table(report));

const dayAfter = (days: number): string =>
  new Date(Date.now() + days * DAY).toISOString().slice(0, 10);

function installLicense(product: string, ...terms: readonly string[]): void {
  const [request, license] = ["request.jwt", "license.jwt"].map((name) =>
    join(makeTempFolder(), name),
  ) as [string, string];
  const data = ["--data", site.folder];
  BERTH_COMMANDS.run("license", "request", ...data, "--product", product, "--out", request);
  const answer = desk.issue(request, "--timeout-minutes", "600", ...terms);
  writeFileSync(license, answer);
  BERTH_COMMANDS.run("license", "add", license, ...data);
}

const register = (product: string, user: string): Promise<Response> =>
  callApi(site, "register", { product, user, os_hostname: `ws-${user}` });

async function readStatus(): Promise<StatusReply> {
  const answer = await fetch("http://berth/api/admin/v1/status", {
    unix: join(site.folder, "berth.sock"),
  });
  return (await answer.json()) as StatusReply;
}

/** Does a task from the overview, and compares what it took with the limit. */
function task(name: string, limit: Limit, work: (operator: Operator) => Promise<void>): void {
  test(`an operator can ${name}`, async () => {
    const { page } = await openSignedIn(site, token, "#/overview");
    await page.getByRole("heading", { name: "CAD" }).first().waitFor();
    const operator = new Operator(page);
    await work(operator);
    const { clicks, fields, drops } = operator;
    report.push({ task: name, clicks, "at most": limit.clicks, fields, files: drops });
    expect(clicks).toBeLessThanOrEqual(limit.clicks);
    expect(fields).toBeLessThanOrEqual(limit.fields);
  });
}

task("see who holds CAD and release a slot", { clicks: 3, fields: 0 }, async (operator) => {
  const { page } = operator;
  await operator.follow(/of 10 slots in use/);
  const row = page.getByRole("row").filter({ hasText: "b.johnson" });
  await operator.click(row.getByRole("button", { name: /Release/ }));
  await operator.click(page.getByRole("dialog").getByRole("button", { name: /^Release/ }));
  await row.waitFor({ state: "detached" });
  const cad = (await readStatus()).licenses.find(({ product }) => product === "CAD");
  expect(cad?.floating_slots_in_use).toBe(2);
});

task("renew a license by file", { clicks: 5, fields: 0 }, async (operator) => {
  const { page } = operator;
  await operator.follow("Request a renewal");
  await operator.press("Create the request");
  const { path } = await operator.save(page.getByRole("button", { name: "Save as file" }));
  const until = ["--valid-until", dayAfter(45)];
  const answer = desk.issue(path, "--slots", "6", "--timeout-minutes", "600", ...until);
  await operator.press("Continue");
  await operator.press("Install the license");
  await operator.drop(answer, "license.jwt");
  await page.getByText("License installed").first().waitFor();
  const sim = (await readStatus()).licenses.find(({ product }) => product === "SIM");
  expect(sim?.floating_users).toBe(6);
});

task(
  "activate a license by phone, with a typing error",
  { clicks: 8, fields: 1 },
  async (operator) => {
    const { page } = operator;
    await operator.follow("Licenses");
    await operator.click(page.getByRole("link", { name: /phone/ }));
    await operator.press("Continue");
    await operator.fill("License key", KEY);
    await operator.press("Create the activation code");
    await page.locator(".code-display li").first().waitFor();
    const rows = await page.locator(".code-display li").allTextContents();
    const deskFlags = ["--dir", desk.folder, "--policy", policy, "--allow-weak-binding", "--json"];
    const codeFlags = ["--license-key", KEY, "--activation-code", rows.join("\n")];
    const output = BERTH_COMMANDS.run("vendor", "confirm", ...deskFlags, ...codeFlags);
    const { confirmation_code } = JSON.parse(output) as { readonly confirmation_code: string };
    await operator.press("I have the confirmation code");
    await operator.drop(readFileSync(policy, "utf8"), "policy.jwt");
    await operator.press("Continue");
    const codeRows = confirmation_code.split("\n");
    const wrongRow = (codeRows[2] ?? "").replace(/.$/, (symbol) => (symbol === "7" ? "8" : "7"));
    await page.locator(".code-row input").first().focus();
    for (const row of codeRows.with(2, wrongRow)) await page.keyboard.type(row);
    await page.getByText("Row 3 is wrong: ask for it again.").waitFor();
    const third = page.locator(".code-row input").nth(2);
    await third.fill("");
    await third.pressSequentially(codeRows[2] ?? "");
    await operator.press("Install the license");
    await page.getByText("License installed").first().waitFor();
    expect((await register("LATER", "a.lovelace")).ok).toBe(true);
  },
);

task("find out why a user was refused", { clicks: 1, fields: 4 }, async (operator) => {
  const { page } = operator;
  const today = new Date().toLocaleDateString("sv");
  await operator.follow("Audit log");
  await operator.fill("Search", "f.tanaka");
  await operator.select("Kind", "refusals");
  await operator.fill("From", today);
  await operator.fill("To", today);
  const refusal = page.locator(".event").filter({ hasText: "f.tanaka" }).first();
  await refusal.filter({ hasText: "no free slot" }).filter({ hasText: "SIM" }).waitFor();
});

task("save a backup", { clicks: 4, fields: 0 }, async (operator) => {
  const { page } = operator;
  await operator.follow("Settings");
  await operator.follow("Backups");
  await operator.press("Save a backup");
  const confirm = page.getByRole("dialog").getByRole("button", { name: "Save a backup" });
  const { size } = await operator.save(confirm);
  expect(size).toBeGreaterThan(1_000);
});

task("create an admin token", { clicks: 5, fields: 1 }, async (operator) => {
  const { page } = operator;
  await operator.follow("Settings");
  await operator.press("Create a token");
  await operator.fill("Token name", "monitoring");
  await operator.click(page.getByRole("dialog").getByRole("button", { name: /^Create/ }));
  const secret = await page.locator(".secret code").textContent();
  await operator.press("I have saved it");
  const answer = await fetch(new URL("/api/admin/v1/status", site.url), {
    headers: { authorization: `Bearer ${secret}` },
  });
  expect(answer.status).toBe(200);
});

task("see what expires within 60 days", { clicks: 0, fields: 0 }, async ({ page }) => {
  installLicense("SIM", "--slots", "6", "--valid-until", dayAfter(45));
  await page
    .getByText(/SIM.* expires in 4\d days/)
    .first()
    .waitFor();
  expect(await page.getByText(/CAD.* expires in/).count()).toBe(0);
});
