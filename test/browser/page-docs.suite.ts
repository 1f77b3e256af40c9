// The API documentation page: every operation is found, read and called from the page, against the
// demo of the real binary.
import { beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import type { ServerProcess } from "../support/binary.ts";
import { listOperations, type JsonObject } from "../support/openapi-rules.ts";
import { makeTempFolder } from "../support/suite-harness.ts";
import { fillField, openOperation, readStatus, sendForm, serveDemo } from "./docs-page.ts";
import { expectEventually, HOSTILE, OperatorPage } from "./operator-page.ts";

const CONTRACT = [
  "post-api-v4-register",
  "post-api-v4-borrow",
  "post-api-v4-add_consumption",
  "post-api-v4-add_feature_consumption",
  "post-api-v4-airgap-license",
  "post-api-v4-license-generate",
  "get-api-v4-setKeys",
];

let folder: string;
let demo: ServerProcess;

beforeAll(async () => {
  folder = join(makeTempFolder(), "demo");
  demo = await serveDemo("127.0.0.1", folder);
});

test("the docs page begins with how to call the API", async () => {
  const docs = await openDocs();
  await docs.checkAccessibility("docs page, how to call");
  await docs.saveScreenshot("docs-how-to-call");
});

test("the docs page shows all operations of openapi.json with title and path, the contract first", async () => {
  const document = (await (await fetch(`${demo.url}/api/v4/openapi.json`)).json()) as JsonObject;
  const { page } = await openDocs();
  const shown: object[] = [];
  const expected: object[] = [];
  for (const [route, operation] of listOperations(document)) {
    const id = idOf(route);
    await openOperation(page, id);
    shown.push({
      title: await page.locator(".operation h2").textContent(),
      line: await page.locator(".operation .line").first().textContent(),
      entries: await page.locator(`.index a[href="#${id}"][aria-current="page"]`).count(),
    });
    expected.push({ title: operation["summary"], line: route, entries: 1 });
  }
  expect(shown.length).toBeGreaterThan(40);
  expect(shown).toEqual(expected);
  const first = await page.locator(".index ul").first().locator("a").evaluateAll(hrefs);
  expect(first).toEqual(CONTRACT.map((id) => `#${id}`));
});

test.each(CONTRACT)(
  "%s can be called from the docs page, and with its curl command",
  async (id) => {
    const docs = await openDocs();
    const { page } = docs;
    await openOperation(page, id);
    if (id.endsWith("airgap-license")) {
      const path = join(folder, "demo", "airgap-license.json");
      const fields = JSON.parse(readFileSync(path, "utf8")) as Readonly<Record<string, string>>;
      for (const [name, value] of Object.entries(fields)) await fillField(page, name, value);
    }
    expect(await sendForm(page), await answerText(page)).toBe("200");
    await docs.checkAccessibility(`docs page, ${id}`);
    const command = (await page.locator(".response .curl code").textContent()) ?? "";
    expect(statusByCurl(command), command).toBe("200");
    await docs.saveScreenshot(`docs-${id}`);
  },
);

test("the docs page shows the server's message for a wrong value and for broken JSON", async () => {
  const docs = await openDocs();
  const { page } = docs;
  await openOperation(page, "post-api-v4-add_consumption");
  await fillField(page, "consumptions", "1e3");
  expect(await sendForm(page)).toBe("400");
  expect(await page.getByRole("alert").textContent()).toContain(
    "consumptions must be a whole number in plain digits",
  );
  await docs.checkAccessibility("docs page, a refused call");
  await docs.saveScreenshot("docs-refusal");
  await page.getByLabel("JSON as written").check();
  await page.getByLabel("Body", { exact: true }).fill('{"product":');
  await sendForm(page);
  expect(await page.getByRole("alert").textContent()).toContain(
    "the body is not valid JSON in UTF-8",
  );
});

test("the docs page sends a user name that is HTML unchanged, and shows it as text", async () => {
  const { page } = await openDocs();
  await openOperation(page, "post-api-v4-register");
  await fillField(page, "user", HOSTILE);
  await page.getByRole("button", { name: "New X-Nonce" }).click();
  expect(await sendForm(page), await answerText(page)).toBe("200");
  const body = await page.locator(".response .body").textContent();
  const reply = JSON.parse(body ?? "{}") as { user?: string; lease?: string };
  expect(reply.user).toBe(HOSTILE);
  // The answer to a call with an X-Nonce has a lease.
  expect(reply.lease).toStartWith("eyJ");
  expect(await page.locator("main img").count()).toBe(0);
});

test("searching the docs page for a field name finds its operation, an empty search shows all", async () => {
  const docs = await openDocs();
  const { page } = docs;
  const search = page.getByLabel("Search operations");
  await search.fill("confirmation_code");
  await page.getByText("1 operation", { exact: true }).waitFor();
  expect(await page.locator(".index li").count()).toBe(1);
  await docs.checkAccessibility("docs page, a search");
  await search.press("Enter");
  await page.getByRole("heading", { name: "Add an air-gapped license" }).waitFor();
  await search.fill("zebra");
  await page.getByText("No results.").waitFor();
  await search.fill("");
  await expectEventually(async () => (await page.locator(".index li").count()) > 40, true);
});

test("the docs page sends a destructive call only after its dialog is confirmed", async () => {
  for (const user of ["ada", HOSTILE]) {
    await fetch(`${demo.url}/api/v4/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ user }),
    });
  }
  const before = await countSlotsInUse();
  expect(before).toBeGreaterThan(1);
  const docs = await openDocs();
  const { page } = docs;
  await openOperation(page, "post-api-v4-unregister-all");
  await page.getByRole("button", { name: "Send" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("All users lose their slots").waitFor();
  await docs.checkAccessibility("docs page, the confirmation dialog");
  await docs.saveScreenshot("docs-confirmation");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  expect(await countSlotsInUse()).toBe(before);
  await page.getByRole("button", { name: "Send" }).click();
  await dialog.getByRole("button", { name: "Send the request" }).click();
  expect(await readStatus(page)).toBe("200");
  expect(await countSlotsInUse()).toBe(0);
  await page.getByText("No body.").waitFor();
});

test("uploading a file that is no license shows the server's error code on the docs page", async () => {
  const docs = await openDocs();
  const { page } = docs;
  await openOperation(page, "post-api-v4-license-upload");
  await page.getByLabel("Document", { exact: true }).setInputFiles({
    name: "it's an answer.jwt",
    mimeType: "application/octet-stream",
    buffer: Buffer.from("not a license"),
  });
  expect(await sendForm(page)).toBe("400");
  expect(await page.getByRole("alert").textContent()).toContain("invalid_license_file");
  await docs.checkAccessibility("docs page, an upload");
});

test("the docs page shows an endless response after a time limit, and says that it had not ended", async () => {
  const { page } = await openDocs();
  await openOperation(page, "get-api-admin-v1-stream");
  expect(await sendForm(page)).toBe("200");
  await page.getByText("The response had not ended after 5 seconds").waitFor();
});

async function openDocs(): Promise<OperatorPage> {
  const docs = await OperatorPage.open(`${demo.url}/api/v4/docs`);
  await docs.page.getByRole("heading", { name: "How to call" }).waitFor();
  return docs;
}

/** The same id that the page gives an operation. */
function idOf(route: string): string {
  const [method = "", path = ""] = route.split(" ");
  return `${method.toLowerCase()}-${path.replaceAll(/\W+/g, "-").replaceAll(/^-|-$/g, "")}`;
}

function hrefs(links: readonly { getAttribute(name: string): string | null }[]): (string | null)[] {
  return links.map((link) => link.getAttribute("href"));
}

function statusByCurl(command: string): string {
  const curl = Bun.spawnSync(["sh", "-c", `${command} -o /dev/null -w '%{http_code}'`]);
  return curl.stdout.toString();
}

async function answerText(page: Page): Promise<string> {
  return (await page.locator(".try-it .response, .try-it .notice").first().textContent()) ?? "";
}

async function countSlotsInUse(): Promise<number> {
  const response = await fetch(`${demo.url}/api/admin/v1/registrations`);
  return ((await response.json()) as readonly unknown[]).length;
}
