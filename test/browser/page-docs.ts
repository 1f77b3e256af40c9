// The API documentation as an application developer has it: every call found, read and made from the
// page, against the demo of the real binary.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { check, finish, makeTempFolder } from "../support/suite-harness.ts";
import { listOperations, type JsonObject } from "../support/openapi-rules.ts";
import { fillField, openOperation, readStatus, sendForm, serveDemo } from "./docs-page.ts";
import { comesTrue, HOSTILE, isShown, OperatorPage } from "./operator-page.ts";

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
await docs.checkAccessibility("how to call");
await docs.saveScreenshot("docs-how-to-call");
await checkEverything();
await checkContract();
await checkRefusals();
await checkSearch();
await checkDestroying();
await checkUpload();
await checkStream();
docs.checkNoErrors("the documentation");
await docs.close();
await demo.stop();
finish();

async function checkEverything(): Promise<void> {
  const document = (await (await fetch(`${demo.url}/api/v4/openapi.json`)).json()) as JsonObject;
  const wrong: string[] = [];
  const operations = listOperations(document);
  for (const [route, operation] of operations) {
    const id = idOf(route);
    await openOperation(page, id);
    const title = await page.locator(".operation h2").textContent();
    const line = await page.locator(".operation .line").first().textContent();
    if (title !== operation["summary"] || line !== route) wrong.push(`${route}: ${title} ${line}`);
    const entries = await page.locator(`.index a[href="#${id}"][aria-current="page"]`).count();
    if (entries !== 1) wrong.push(`${route}: ${entries} entries in the index`);
  }
  check(`all ${operations.length} operations of the document are shown`, wrong.length === 0, wrong);
  const first = await page.locator(".index ul").first().locator("a").evaluateAll(hrefs);
  check(
    "the seven operations come first",
    JSON.stringify(first) === JSON.stringify(CONTRACT.map((id) => `#${id}`)),
    first,
  );
}

/** As the page makes it, said once more. */
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
    check(`${id}, tried from the page`, status === "200", await answerText());
    await docs.checkAccessibility(id);
    const line = await page.locator(".answer .curl code").textContent();
    check(`${id}, by the line that the page gives`, (await byCurl(line ?? "")) === "200", line);
  }
  await docs.saveScreenshot("docs-setkeys");
}

async function byCurl(line: string): Promise<string> {
  const curl = Bun.spawnSync(["sh", "-c", `${line} -o /dev/null -w '%{http_code}'`]);
  return curl.stdout.toString();
}

async function answerText(): Promise<string> {
  return (await page.locator(".try .answer, .try .notice").first().textContent()) ?? "";
}

async function checkRefusals(): Promise<void> {
  await openOperation(page, "post-api-v4-add_consumption");
  await fillField(page, "consumptions", "1e3");
  const status = await sendForm(page);
  const said = await page.getByRole("alert").textContent();
  check(
    "a misspelt value is answered in the server's own words",
    status === "400" &&
      said?.includes("consumptions must be a whole number in plain digits") === true,
    said,
  );
  await docs.checkAccessibility("a refusal");
  await docs.saveScreenshot("docs-refusal");
  await page.getByLabel("JSON as written").check();
  await page.getByLabel("Body", { exact: true }).fill('{"product":');
  await sendForm(page);
  const broken = await page.getByRole("alert").textContent();
  check(
    "and so is broken JSON",
    broken?.includes("the body is not valid JSON in UTF-8") === true,
    broken,
  );

  await openOperation(page, "post-api-v4-register");
  await fillField(page, "user", HOSTILE);
  await page.getByRole("button", { name: "New X-Nonce" }).click();
  check("a hostile name is only text", (await sendForm(page)) === "200", await answerText());
  const body = await page.locator(".answer .body").textContent();
  const reply = JSON.parse(body ?? "{}") as { user?: string; lease?: string };
  check("and comes back as it is", reply.user === HOSTILE, body);
  check("a fresh X-Nonce is answered by a lease", reply.lease?.startsWith("eyJ") === true, body);
  check("nothing of it became a part of the page", (await page.locator("main img").count()) === 0);
}

async function checkSearch(): Promise<void> {
  const search = page.getByLabel("Search operations");
  await search.fill("confirmation_code");
  await page.getByText("1 operation", { exact: true }).waitFor();
  check("search by a field finds its call", (await page.locator(".index li").count()) === 1);
  await docs.checkAccessibility("a search");
  await search.press("Enter");
  await page.getByRole("heading", { name: "Add an air-gapped license" }).waitFor();
  await search.fill("zebra");
  await page.getByText("Nothing here goes by that.").waitFor();
  await search.fill("");
  check(
    "an empty search shows all",
    await comesTrue(async () => (await page.locator(".index li").count()) > 40),
  );
}

async function holders(): Promise<number> {
  const response = await fetch(`${demo.url}/api/admin/v1/registrations`);
  return ((await response.json()) as readonly unknown[]).length;
}

async function checkDestroying(): Promise<void> {
  // Those who came before may have lost their slots by now.
  for (const user of ["ada", HOSTILE]) {
    await fetch(`${demo.url}/api/v4/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ user }),
    });
  }
  const before = await holders();
  await openOperation(page, "post-api-v4-unregister-all");
  await page.getByRole("button", { name: "Send" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("All users lose their slots").waitFor();
  await docs.checkAccessibility("the question");
  await docs.saveScreenshot("docs-question");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  check("what destroys asks first", before > 1 && (await holders()) === before, before);
  await page.getByRole("button", { name: "Send" }).click();
  await dialog.getByRole("button", { name: "Do it" }).click();
  check("and does it when told so", (await readStatus(page)) === "200" && (await holders()) === 0);
  check("an empty reply is said to be one", await isShown(page.getByText("No body.")));
}

async function checkUpload(): Promise<void> {
  await openOperation(page, "post-api-v4-license-upload");
  await page.getByLabel("Document", { exact: true }).setInputFiles({
    name: "it's an answer.jwt",
    mimeType: "application/octet-stream",
    buffer: Buffer.from("not a license"),
  });
  const status = await sendForm(page);
  const said = await page.getByRole("alert").textContent();
  check(
    "a file is uploaded, and judged by the server",
    status === "400" && said?.includes("invalid_license_file") === true,
    said,
  );
  await docs.checkAccessibility("an upload");
}

async function checkStream(): Promise<void> {
  await openOperation(page, "get-api-admin-v1-stream");
  check("what never ends is cut", (await sendForm(page)) === "200");
  check("and said to be", await isShown(page.getByText("It had not ended after 5 seconds")));
}
