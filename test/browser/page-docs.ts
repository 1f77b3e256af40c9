// The API documentation page: every operation is found, read and called from the page, against the
// demo of the real binary.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { check, finish, makeTempFolder } from "../support/suite-harness.ts";
import { listOperations, type JsonObject } from "../support/openapi-rules.ts";
import { fillField, openOperation, readStatus, sendForm, serveDemo } from "./docs-page.ts";
import { isEventuallyTrue, HOSTILE, isShown, OperatorPage } from "./operator-page.ts";

const CONTRACT = [
  "post-api-v4-register",
  "post-api-v4-borrow",
  "post-api-v4-add_consumption",
  "post-api-v4-add_feature_consumption",
  "post-api-v4-airgap-license",
  "post-api-v4-license-generate",
  "get-api-v4-setKeys",
];

const folder = join(makeTempFolder(), "demo");
const demo = await serveDemo("127.0.0.1", folder);
const docs = await OperatorPage.open(`${demo.url}/api/v4/docs`);
const { page } = docs;

await page.getByRole("heading", { name: "How to call" }).waitFor();
await docs.checkAccessibility("docs page, how to call");
await docs.saveScreenshot("docs-how-to-call");
await checkAllOperations();
await checkContract();
await checkRefusals();
await checkSearch();
await checkConfirmation();
await checkUpload();
await checkStream();
docs.checkNoErrors("the docs page");
await docs.close();
await demo.stop();
finish();

async function checkAllOperations(): Promise<void> {
  const document = (await (await fetch(`${demo.url}/api/v4/openapi.json`)).json()) as JsonObject;
  const problems: string[] = [];
  const operations = listOperations(document);
  for (const [route, operation] of operations) {
    const id = idOf(route);
    await openOperation(page, id);
    const title = await page.locator(".operation h2").textContent();
    const line = await page.locator(".operation .line").first().textContent();
    if (title !== operation["summary"] || line !== route) {
      problems.push(`${route}: ${title} ${line}`);
    }
    const entries = await page.locator(`.index a[href="#${id}"][aria-current="page"]`).count();
    if (entries !== 1) problems.push(`${route}: ${entries} entries in the index`);
  }
  check(
    `the docs page shows all ${operations.length} operations of openapi.json`,
    problems.length === 0,
    problems,
  );
  const first = await page.locator(".index ul").first().locator("a").evaluateAll(hrefs);
  check(
    "the index of the docs page begins with the seven operations of the contract",
    JSON.stringify(first) === JSON.stringify(CONTRACT.map((id) => `#${id}`)),
    first,
  );
}

/** The same id that the page gives an operation. */
function idOf(route: string): string {
  const [method = "", path = ""] = route.split(" ");
  return `${method.toLowerCase()}-${path.replaceAll(/\W+/g, "-").replaceAll(/^-|-$/g, "")}`;
}

function hrefs(links: readonly { getAttribute(name: string): string | null }[]): (string | null)[] {
  return links.map((link) => link.getAttribute("href"));
}

async function checkContract(): Promise<void> {
  const airgap = JSON.parse(
    readFileSync(join(folder, "demo", "airgap-license.json"), "utf8"),
  ) as Readonly<Record<string, string>>;
  for (const id of CONTRACT) {
    await openOperation(page, id);
    if (id.endsWith("airgap-license")) {
      for (const [name, value] of Object.entries(airgap)) await fillField(page, name, value);
    }
    const status = await sendForm(page);
    check(`${id} can be called from the docs page`, status === "200", await answerText());
    await docs.checkAccessibility(`docs page, ${id}`);
    const line = await page.locator(".response .curl code").textContent();
    check(
      `${id} can be called with the curl command of the docs page`,
      (await statusByCurl(line ?? "")) === "200",
      line,
    );
  }
  await docs.saveScreenshot("docs-setkeys");
}

async function statusByCurl(command: string): Promise<string> {
  const curl = Bun.spawnSync(["sh", "-c", `${command} -o /dev/null -w '%{http_code}'`]);
  return curl.stdout.toString();
}

async function answerText(): Promise<string> {
  return (await page.locator(".try-it .response, .try-it .notice").first().textContent()) ?? "";
}

async function checkRefusals(): Promise<void> {
  await openOperation(page, "post-api-v4-add_consumption");
  await fillField(page, "consumptions", "1e3");
  const status = await sendForm(page);
  const alert = await page.getByRole("alert").textContent();
  check(
    "the docs page shows the server's message for a wrong value",
    status === "400" &&
      alert?.includes("consumptions must be a whole number in plain digits") === true,
    alert,
  );
  await docs.checkAccessibility("docs page, a refused call");
  await docs.saveScreenshot("docs-refusal");
  await page.getByLabel("JSON as written").check();
  await page.getByLabel("Body", { exact: true }).fill('{"product":');
  await sendForm(page);
  const jsonAlert = await page.getByRole("alert").textContent();
  check(
    "the docs page shows the server's message for broken JSON",
    jsonAlert?.includes("the body is not valid JSON in UTF-8") === true,
    jsonAlert,
  );

  await openOperation(page, "post-api-v4-register");
  await fillField(page, "user", HOSTILE);
  await page.getByRole("button", { name: "New X-Nonce" }).click();
  check(
    "a user name that is HTML can be sent from the docs page",
    (await sendForm(page)) === "200",
    await answerText(),
  );
  const body = await page.locator(".response .body").textContent();
  const reply = JSON.parse(body ?? "{}") as { user?: string; lease?: string };
  check("the answer contains the HTML user name unchanged", reply.user === HOSTILE, body);
  check(
    "a call with a new X-Nonce is answered with a lease",
    reply.lease?.startsWith("eyJ") === true,
    body,
  );
  check(
    "the HTML user name does not become an element of the docs page",
    (await page.locator("main img").count()) === 0,
  );
}

async function checkSearch(): Promise<void> {
  const search = page.getByLabel("Search operations");
  await search.fill("confirmation_code");
  await page.getByText("1 operation", { exact: true }).waitFor();
  check(
    "searching for a field name finds the operation that has it",
    (await page.locator(".index li").count()) === 1,
  );
  await docs.checkAccessibility("docs page, a search");
  await search.press("Enter");
  await page.getByRole("heading", { name: "Add an air-gapped license" }).waitFor();
  await search.fill("zebra");
  await page.getByText("No results.").waitFor();
  await search.fill("");
  check(
    "an empty search shows all operations",
    await isEventuallyTrue(async () => (await page.locator(".index li").count()) > 40),
  );
}

async function countSlotsInUse(): Promise<number> {
  const response = await fetch(`${demo.url}/api/admin/v1/registrations`);
  return ((await response.json()) as readonly unknown[]).length;
}

async function checkConfirmation(): Promise<void> {
  // Slots of earlier calls may have ended by now.
  for (const user of ["ada", HOSTILE]) {
    await fetch(`${demo.url}/api/v4/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ user }),
    });
  }
  const before = await countSlotsInUse();
  await openOperation(page, "post-api-v4-unregister-all");
  await page.getByRole("button", { name: "Send" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("All users lose their slots").waitFor();
  await docs.checkAccessibility("docs page, the confirmation dialog");
  await docs.saveScreenshot("docs-confirmation");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  check(
    "cancelling the confirmation dialog of a destructive call sends nothing",
    before > 1 && (await countSlotsInUse()) === before,
    before,
  );
  await page.getByRole("button", { name: "Send" }).click();
  await dialog.getByRole("button", { name: "Send the request" }).click();
  check(
    "confirming the dialog of a destructive call sends it",
    (await readStatus(page)) === "200" && (await countSlotsInUse()) === 0,
  );
  check("the docs page says when an answer has no body", await isShown(page.getByText("No body.")));
}

async function checkUpload(): Promise<void> {
  await openOperation(page, "post-api-v4-license-upload");
  await page.getByLabel("Document", { exact: true }).setInputFiles({
    name: "it's an answer.jwt",
    mimeType: "application/octet-stream",
    buffer: Buffer.from("not a license"),
  });
  const status = await sendForm(page);
  const alert = await page.getByRole("alert").textContent();
  check(
    "uploading a file that is no license shows the server's error code",
    status === "400" && alert?.includes("invalid_license_file") === true,
    alert,
  );
  await docs.checkAccessibility("docs page, an upload");
}

async function checkStream(): Promise<void> {
  await openOperation(page, "get-api-admin-v1-stream");
  check("an endless response is shown after a time limit", (await sendForm(page)) === "200");
  check(
    "the docs page says that the response had not ended",
    await isShown(page.getByText("The response had not ended after 5 seconds")),
  );
}
