// The Rules page: an administrator writes rules with findings and a preview beside them, applies
// and clears them, and asks what they decide for a person. A viewer reads all of it.
import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Locator, Page } from "playwright-core";
import type { RulesReply } from "../../src/http/routes/rules/rules-reply.ts";
import { applyRules, callApi, startLicensedSite, type Licensed } from "./licensed-site.ts";
import {
  createToken,
  expectEventually,
  HOSTILE,
  openSignedIn,
  type OperatorPage,
} from "./operator-page.ts";

const DENY = `[groups.contractors]
users = ["ext-*"]

[[rule]]
product = "CAD"
deny = ["contractors"]
limit = { each_user = 1 }
`;

const RESERVE = `[groups.sim]
users = ["ada", "grace"]

[[rule]]
product = "CAD"
reserve = [{ group = "sim", slots = 2 }]
`;

let site: Licensed;
let token: string;

beforeAll(async () => {
  site = await startLicensedSite({
    CAD: ["--slots", "4", "--borrow-hours", "48", "--feature", "MESH:slots=3"],
  });
  token = await createToken(site);
});

beforeEach(async () => {
  await releaseAll();
  await putRules("");
});

const adminUrl = (path: string): string => new URL(`/api/admin/v1/${path}`, site.url).href;

async function readRules(): Promise<RulesReply> {
  const reply = await fetch(adminUrl("rules"), { headers: { authorization: `Bearer ${token}` } });
  return (await reply.json()) as RulesReply;
}

async function releaseAll(): Promise<void> {
  const reply = await fetch(adminUrl("registrations/release/all"), {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ product: "CAD" }),
  });
  if (!reply.ok) throw new Error(await reply.text());
}

/** Applies rules as another administrator does. */
const putRules = (text: string): Promise<void> => applyRules(site, token, text);

const register = async (user: string): Promise<string> => {
  const reply = await callApi(site, "register", { product: "CAD", user });
  return reply.ok ? "granted" : ((await reply.json()) as { readonly message: string }).message;
};

interface RulesPage {
  readonly opened: OperatorPage;
  readonly page: Page;
  readonly editor: Locator;
  readonly findings: Locator;
  readonly button: (name: string | RegExp) => Locator;
}

async function openRules(path = "#/rules", as = token): Promise<RulesPage> {
  const opened = await openSignedIn(site, as, path);
  const { page } = opened;
  const editor = page.getByLabel("Rules of this site (TOML)");
  await editor.waitFor();
  return {
    opened,
    page,
    editor,
    findings: page.locator(".rules-findings"),
    button: (name) => page.getByRole("button", { name, exact: typeof name === "string" }),
  };
}

describe("the editor of rules", () => {
  test("shows findings by line while the text is typed, and refuses to apply errors", async () => {
    const { opened, page, editor, findings, button } = await openRules();
    await page.getByText("There are no rules").waitFor();
    await editor.fill(`[[rule]]\nproduct = "CAD"\ndeny = ["contractors"]\nlimt = 3\n`);
    await findings.getByText("2 errors").waitFor();
    await findings.getByText(`there is no group "contractors"`).waitFor();
    await findings.getByText("did you mean limit?").waitFor();
    expect(await button("Apply the rules").isDisabled()).toBe(true);
    const marked = page.locator(".line-numbers .error");
    await expectEventually(async () => (await marked.allInnerTexts()).map(Number), [3, 4]);
    await findings.getByRole("button", { name: "Line 4" }).click();
    const selected = await page.evaluate<string>(
      `(({ value, selectionStart, selectionEnd }) => value.slice(selectionStart, selectionEnd))(
        document.activeElement)`,
    );
    expect(selected).toBe("limt = 3");
    await opened.checkLayouts("rules-findings");
    await editor.fill(DENY);
    await findings
      .getByText(/^\d+ warnings?\.$/)
      .first()
      .waitFor();
    await expectEventually(() => button("Apply the rules").isEnabled(), true);
  });

  test("applies rules, which refuse new users and take no slot away", async () => {
    for (const user of ["ext-1", "ada"]) expect(await register(user)).toBe("granted");
    const { opened, page, editor, button } = await openRules();
    await editor.fill(DENY);
    await page.getByText("1 user with a slot would get no new one: denied").waitFor();
    await page.getByText("ext-1: denied as a member of contractors (line 6)").waitFor();
    await opened.checkLayouts("rules-preview");
    await button("Apply the rules").click();
    await page.getByText("The rules are in effect.").waitFor();
    expect((await readRules()).text).toBe(DENY);
    expect(await register("ext-1")).toBe("granted");
    expect(await register("ext-2")).toContain("line 6");
    expect(await register("ada#second")).toContain("line 7");
  });

  test("shows what is reserved and free before and after", async () => {
    const { page, editor } = await openRules();
    await editor.fill(RESERVE);
    const cells = page.locator(".rules-preview .facts dd");
    await expectEventually(
      async () => (await cells.allInnerTexts()).map((text) => text.trim()),
      ["0 of 4", "0 → 2", "4 → 2"],
    );
    await page.getByText("No user with a slot would be denied").waitFor();
  });

  test("keeps the text in another view, and discards it on request", async () => {
    const { page, editor, button } = await openRules();
    await editor.fill(RESERVE);
    await page.getByRole("link", { name: "Overview", exact: true }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await expectEventually(() => editor.inputValue(), RESERVE);
    await button("Discard changes").click();
    await expectEventually(() => editor.inputValue(), "");
    await button("Restore my text").click();
    await expectEventually(() => editor.inputValue(), RESERVE);
  });

  test("clears all rules after a confirmation", async () => {
    await putRules(RESERVE);
    const { page, editor, button } = await openRules();
    await expectEventually(() => editor.inputValue(), RESERVE);
    await button("Clear the rules").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect((await readRules()).text).toBe(RESERVE);
    await button("Clear the rules").click();
    await dialog.getByRole("button", { name: "Clear the rules" }).click();
    await page.getByText("There are no rules now.").waitFor();
    await expectEventually(() => editor.inputValue(), "");
    expect((await readRules()).text).toBe("");
  });

  test("shows hostile text as text", async () => {
    const { page, editor, findings } = await openRules();
    await editor.fill(`[[rule]]\nproduct = "${HOSTILE}"\ndeny = ["${HOSTILE}"]\n`);
    await findings.getByText(HOSTILE).first().waitFor();
    expect(await page.locator("main img").count()).toBe(0);
  });
});

describe("rules that another administrator applied meanwhile", () => {
  test("are announced, and the text stays until the reader loads them", async () => {
    const { opened, page, editor, button } = await openRules();
    await editor.fill(DENY);
    await putRules(RESERVE);
    await page.getByText("Other rules were applied meanwhile.").waitFor();
    expect(await editor.inputValue()).toBe(DENY);
    expect(await button("Apply the rules").isDisabled()).toBe(true);
    await opened.checkAccessibility("rules that were changed elsewhere");
    await button("Load the applied rules").click();
    await expectEventually(() => editor.inputValue(), RESERVE);
    await button("Restore my text").click();
    await expectEventually(() => editor.inputValue(), DENY);
  });

  test("are replaced only if the reader says so", async () => {
    const { page, editor, button } = await openRules();
    await editor.fill(DENY);
    await putRules(RESERVE);
    await button("Keep my text, and replace them").click();
    await button("Apply the rules").click();
    await page.getByText("The rules are in effect.").waitFor();
    expect((await readRules()).text).toBe(DENY);
  });

  test("are not overwritten by a page that has not seen them", async () => {
    const { page, editor, button } = await openRules();
    const before = await readRules();
    let isStale = true;
    // The page reads the old rules until its own change is refused.
    await page.route("**/api/admin/v1/rules", async (route) => {
      const { method } = { method: route.request().method() };
      if (method === "PUT") isStale = false;
      return method === "GET" && isStale ? route.fulfill({ json: before }) : route.continue();
    });
    await editor.fill(DENY);
    await expectEventually(() => button("Apply the rules").isEnabled(), true);
    await putRules(RESERVE);
    await button("Apply the rules").click();
    await page.getByText("Other rules were applied meanwhile.").waitFor();
    expect(await editor.inputValue()).toBe(DENY);
    expect((await readRules()).text).toBe(RESERVE);
  });
});

describe("texts for the editor", () => {
  test("come from examples and files, and are saved as a file", async () => {
    const { page, editor, button } = await openRules();
    await page.getByLabel("Example").selectOption({ label: "Deny a group" });
    await button("Insert at the end").click();
    await page.getByLabel("Example").selectOption({ label: "Limit borrowing" });
    await button("Insert at the end").click();
    const text = await editor.inputValue();
    expect(text).toContain(`deny = ["contractors"]`);
    expect(text).toContain("borrow = {");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      button("Save as file").click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^berth-[a-z0-9-]*rules\.toml$/);
    expect(readFileSync(await download.path(), "utf8")).toBe(text);
    const file = { name: "rules.toml", mimeType: "", buffer: Buffer.from(RESERVE) };
    await page.getByLabel("Open a file with rules").setInputFiles(file);
    await expectEventually(() => editor.inputValue(), RESERVE);
    await button("Restore my text").waitFor();
    const large = { name: "large.toml", mimeType: "", buffer: Buffer.alloc(1_048_577, "#") };
    await page.getByLabel("Open a file with rules").setInputFiles(large);
    await page.getByText("This file is larger than 1 MiB").waitFor();
    const latin1 = {
      name: "latin1.toml",
      mimeType: "",
      buffer: Buffer.from("# Bj\u00f6rn", "latin1"),
    };
    await page.getByLabel("Open a file with rules").setInputFiles(latin1);
    await page.getByText("This file is not UTF-8 text.").waitFor();
    expect(await editor.inputValue()).toBe(RESERVE);
  });

  test("come from a FlexNet options file, with each line that has no equivalent", async () => {
    const { opened, page, editor, findings, button } = await openRules();
    await button("Import FlexNet options…").click();
    const options = `GROUP sim ada grace
RESERVE 2 cad_base GROUP sim
MAX 1 cad_mesh USER ALL_USERS
TIMEOUT cad_base 3600
`;
    const dialog = page.getByRole("dialog");
    await dialog
      .getByLabel("Choose an options file")
      .setInputFiles({ name: "vendor.opt", mimeType: "", buffer: Buffer.from(options) });
    await dialog.getByText("3 options are converted, 1 option has no equivalent.").waitFor();
    await dialog.getByText("TIMEOUT cad_base 3600").waitFor();
    await dialog.getByLabel("Product of cad_base").fill("CAD");
    await dialog.getByLabel("Product of cad_mesh").fill("CAD:");
    await dialog.getByText("A product code, or PRODUCT:FEATURE.").waitFor();
    const use = dialog.getByRole("button", { name: "Use these rules" });
    expect(await use.isDisabled()).toBe(true);
    await dialog.getByText("Differences to know").click();
    await dialog.getByText("these features became products of the same name").waitFor();
    expect(await dialog.textContent()).not.toContain("--map");
    await dialog.getByLabel("Product of cad_mesh").fill("CAD:MESH");
    await opened.checkAccessibility("import of a FlexNet options file");
    await use.click();
    await expectEventually(() => page.getByRole("dialog").count(), 0);
    const text = await editor.inputValue();
    expect(text).toContain(`product = "CAD"`);
    expect(text).toContain(`feature = "MESH"`);
    expect(text).toContain("TIMEOUT cad_base 3600");
    expect(text).not.toContain("--map");
    await findings.getByText(/^\d+ warnings?\.$/).waitFor();
    await button("Apply the rules").click();
    await page.getByText("The rules are in effect.").waitFor();
    expect((await readRules()).text).toBe(text);
  });
});

test("a FlexNet option for a part of the licenses is converted only with a product", async () => {
  const { page, editor, button } = await openRules();
  await button("Import FlexNet options…").click();
  const dialog = page.getByRole("dialog");
  const buffer = Buffer.from("MAX 2 CAD USER ALL_USERS\nMAX 1 CAD:VERSION=2.0 USER ALL_USERS\n");
  await dialog
    .getByLabel("Choose an options file")
    .setInputFiles({ name: "vendor.opt", mimeType: "", buffer });
  await dialog.getByText("1 option is converted, 1 option has no equivalent.").waitFor();
  const field = dialog.getByLabel("Product of CAD:VERSION=2.0");
  expect(await field.inputValue()).toBe("");
  await dialog.getByText("Empty: its lines are not converted.").waitFor();
  await field.fill("CAD");
  await dialog.getByText("2 options are converted, 0 options have no equivalent.").waitFor();
  await field.fill("");
  await dialog.getByRole("button", { name: "Use these rules" }).click();
  expect(await editor.inputValue()).toContain("limit = { each_user = 2 }");
});

describe("the explanation for a person", () => {
  test("names the rule that refuses, its line and what the caller reads", async () => {
    await putRules(DENY);
    const { opened, page, button } = await openRules();
    await button("Explain").click();
    await page.getByText("Enter a user name.").waitFor();
    await page.getByLabel("User", { exact: true }).fill("ext-1");
    await page.getByLabel("User", { exact: true }).press("Enter");
    await page.getByText("The user would be refused now.").waitFor();
    const row = page.getByRole("row", { name: /deny/ });
    await row.getByText("refuses").waitFor();
    expect(await row.locator("td").first().innerText()).toBe("6");
    const hash = decodeURIComponent(new URL(page.url()).hash);
    expect(hash).toBe("#/rules/user=ext-1/product=CAD");
    await opened.checkLayouts("rules-explain");
    await page.getByLabel("User", { exact: true }).fill("lin");
    await button("Explain").click();
    await page.getByText("The user would get a slot now.").waitFor();
  });

  test("is of a feature’s slots if one is named", async () => {
    await putRules(`[groups.students]
users = ["stud-*"]

[[rule]]
product = "CAD"
feature = "MESH"
deny = ["students"]
`);
    const { opened, page, button } = await openRules();
    await page.getByLabel("User", { exact: true }).fill("stud-1");
    await page.getByLabel("Feature", { exact: true }).fill("MESH");
    await button("Explain").click();
    await page.getByText("The user would be refused now.").waitFor();
    await page.getByText("0 of 3 slots in use").waitFor();
    await page.getByRole("row", { name: /deny/ }).getByText("refuses").waitFor();
    const hash = decodeURIComponent(new URL(page.url()).hash);
    expect(hash).toBe("#/rules/user=stud-1/product=CAD/feature=MESH");
    await opened.checkAccessibility("explanation of a feature");
    await page.getByLabel("Feature", { exact: true }).fill("");
    await button("Explain").click();
    await page.getByText("The user would get a slot now.").waitFor();
    await page.getByText("0 of 4 slots in use").waitFor();
    await page.getByText("No rule applies.").waitFor();
    await page.getByLabel("Feature", { exact: true }).fill("NONE");
    await button("Explain").click();
    await page.getByText("The user would be refused now.").waitFor();
  });

  test("follows a link from the details of a slot", async () => {
    expect(await register("ada")).toBe("granted");
    const { page } = await openSignedIn(site, token, "#/slots");
    await page.getByRole("button", { name: "Details of ada’s slot of CAD" }).click();
    await page.getByRole("link", { name: "Explain the rules for this user" }).click();
    await page.getByText("The user has a slot and keeps it").waitFor();
    expect(await page.getByLabel("User", { exact: true }).inputValue()).toBe("ada");
  });
});

test("the slots name the group that they are reserved for, and are found by it", async () => {
  await putRules(RESERVE);
  for (const user of ["ada", "lin"]) expect(await register(user)).toBe("granted");
  const { page } = await openSignedIn(site, token, "#/slots");
  await page.getByRole("columnheader", { name: "Reserved for" }).waitFor();
  const rowOf = (user: string): Locator => page.locator(".slot-row", { hasText: user });
  await rowOf("ada").getByText("sim", { exact: true }).waitFor();
  expect(await rowOf("lin").getByText("sim", { exact: true }).count()).toBe(0);
  await page.getByLabel("Search").fill("sim");
  await expectEventually(() => rowOf("lin").count(), 0);
  await page.getByRole("button", { name: "Details of ada’s slot of CAD" }).click();
  await expectEventually(
    () => page.getByRole("dialog").getByText("Reserved for", { exact: true }).count(),
    1,
  );
});

test("the overview counts reserved slots, and those that their groups use", async () => {
  await putRules(RESERVE);
  for (const user of ["ada", "lin"]) expect(await register(user)).toBe("granted");
  const opened = await openSignedIn(site, token, "/");
  const { page } = opened;
  const reserved = page.getByRole("link", { name: "2 reserved, 1 used by their groups" });
  await reserved.waitFor();
  await opened.checkLayouts("overview-reserved");
  await reserved.click();
  await expectEventually(() => new URL(page.url()).hash, "#/rules");
});

test("a viewer reads rules, findings and explanations, and changes nothing", async () => {
  await putRules(DENY);
  const viewer = await createToken(site, `viewer-${Date.now()}`, "viewer");
  const { page, editor, findings, button } = await openRules("#/rules", viewer);
  await expectEventually(() => editor.inputValue(), DENY);
  expect(await editor.getAttribute("readonly")).not.toBeNull();
  await findings
    .getByText(/warning/)
    .first()
    .waitFor();
  for (const name of ["Apply the rules", "Clear the rules", "Insert at the end"]) {
    expect(await button(name).count()).toBe(0);
  }
  await page.getByLabel("User", { exact: true }).fill("ext-1");
  await button("Explain").click();
  await page.getByText("The user would be refused now.").waitFor();
});
