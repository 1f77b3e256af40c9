// The Licenses page: from an empty data folder to a registered user by file, a renewal, every
// refusal of a vendor's file, and the return of a license.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { splitIntoFrames } from "../../src/license/qr.ts";
import { check, finish, makeTempFolder } from "../support/suite-harness.ts";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import { HOSTILE, isShown, OperatorPage, serveSite } from "./operator-page.ts";
import { dropFile, tryRegister, createVendorDesk } from "./vendor-desk.ts";

/** Slots must not end during this suite, even on a busy machine. */
const TIMEOUT_MINUTES = 600;
const LONG_TIMEOUT = ["--timeout-minutes", String(TIMEOUT_MINUTES)];

const root = makeTempFolder();
const desk = createVendorDesk(join(root, "desk"), "Acme & <b>Sons</b>", "CAD", HOSTILE);
const untrustedDesk = createVendorDesk(join(root, "other"), "Untrusted", "CAD");
const site = await serveSite();
const opened = await OperatorPage.open(`${site.url}#/licenses`);
const { page } = opened;

await opened.createToken();
await page.getByText("No license is installed yet.").waitFor();
await opened.checkAccessibility("licenses page without a license");
await opened.saveScreenshot("licenses-none");

// The wizard: vendor, product, request, send, answer.
await page.getByRole("link", { name: "Request a license" }).click();
await page.getByRole("heading", { name: "Step 1 of 5: Vendor" }).waitFor();
check(
  "the wizard cannot continue while no vendor is trusted",
  await page.getByRole("button", { name: "Continue" }).isDisabled(),
);
await opened.checkAccessibility("request wizard, no vendor");
await dropFile(page, desk.trust, "trust.jwt");
await page.getByRole("group", { name: "Trust this vendor?" }).waitFor();
const shown = (await page.locator(".fingerprint").textContent()) ?? "";
check("the wizard shows the fingerprint of the vendor", shown === desk.fingerprint, shown);
const trustList = BERTH_COMMANDS.run("trust", "list", "--data", site.folder);
check(
  "dropping a trust file does not trust the vendor before the operator confirms it",
  /no vendor is trusted/.test(trustList),
  trustList,
);
await opened.checkAccessibility("request wizard, fingerprint of a vendor");
await opened.saveScreenshot("request-1-vendor");
await page.getByRole("button", { name: /trust this vendor/ }).click();
await page.getByText("Trusted vendors").waitFor();
await page.getByRole("button", { name: "Continue" }).click();

await page.getByRole("heading", { name: "Step 2 of 5: Product" }).waitFor();
check("a product name that is HTML is shown as text", await isShown(page.getByText(HOSTILE)));
await page.getByRole("button", { name: "CAD", exact: true }).click();
await opened.checkAccessibility("request wizard, product");
await opened.saveScreenshot("request-2-product");
await page.getByRole("button", { name: "Create the request" }).click();

await page.getByRole("heading", { name: "Step 3 of 5: Request" }).waitFor();
await page.getByRole("button", { name: "Show as QR code" }).click();
await page.getByText("frame 1 of").waitFor();
await opened.checkLayouts("request-3-request");
await page.getByText("frame 2 of 2").waitFor();
await page.getByText("frame 1 of 2").waitFor();
check("the QR codes of a request are played one after the other in a loop", true);
// Which frame this shows depends on when the button is pressed.
await page.getByRole("button", { name: "Previous" }).click();
const isStopped = await isShown(page.getByRole("button", { name: "Play" }));
check("showing the previous QR code stops the loop", isStopped);
const caption = page.getByText(/^frame \d of 2/);
const [currentFrame, otherFrame] =
  (await caption.textContent()) === "frame 1 of 2"
    ? ["frame 1 of 2", "frame 2 of 2"]
    : ["frame 2 of 2", "frame 1 of 2"];
await Bun.sleep(3_500);
check(
  "the stopped loop stays on the same QR code",
  (await caption.textContent()) === currentFrame,
  currentFrame,
);
await page.getByRole("button", { name: "Previous" }).click();
check("Previous shows another QR code every time", await isShown(page.getByText(otherFrame)));
const [download] = await Promise.all([
  page.waitForEvent("download"),
  page.getByRole("button", { name: "Save as file" }).click(),
]);
const request = join(root, download.suggestedFilename());
await download.saveAs(request);
await page.getByRole("button", { name: "Continue" }).click();
await page.getByText("berth vendor issue").waitFor();
await opened.checkAccessibility("request wizard, send");
await opened.saveScreenshot("request-4-send");

const untrustedLicense = untrustedDesk.issue(request, "--slots", "9");
const answer = desk.issue(request, "--slots", "3", "--borrow-hours", "48", ...LONG_TIMEOUT);
await page.getByRole("button", { name: "Install the license" }).click();
await dropFile(page, untrustedLicense, "license.jwt");
await page.getByText("no trusted vendor has this key for this product").waitFor();
check(
  "a license of an untrusted vendor asks for the vendor's trust file",
  await isShown(page.getByText("Drop the vendor’s trust file here")),
);
await opened.checkAccessibility("request wizard, license of an untrusted vendor");
await dropFile(page, untrustedDesk.trust, "trust.jwt");
await page.getByRole("button", { name: /trust this vendor/ }).click();
await page
  .getByRole("group", { name: "Trust this vendor?" })
  .getByRole("alert")
  .filter({ hasText: "no trusted vendor has this key" })
  .waitFor();
check("a second vendor for a product that has a trusted vendor is refused", true);
await page.getByRole("button", { name: "Cancel" }).click();

const flipped = answer.replace(/.(?=.{20}$)/, (char) => (char === "A" ? "B" : "A"));
await dropFile(page, flipped, "license.jwt");
await page.getByText("Copy it again").waitFor();
check("a license with one changed character is refused as damaged", true);
await dropFile(page, answer, "license.jwt");
await page.getByText("CAD is installed").waitFor();
await opened.checkAccessibility("request wizard, license installed");
await opened.saveScreenshot("request-5-answer");
check(
  "after the license is installed a user can register",
  await tryRegister(site.url, "ada", "CAD"),
);

await dropFile(page, answer, "license.jwt");
await page.getByText("CAD is already installed").waitFor();
check("installing the same license again says that it is already installed", true);

// A renewal, chosen as a file: the page says what changed, and slots in use stay in use.
await page.goto(`${site.url}#/licenses`);
const renewalFile = join(root, "renewal.jwt");
BERTH_COMMANDS.run(
  "license",
  "request",
  "--data",
  site.folder,
  "--product",
  "CAD",
  "--out",
  renewalFile,
);
const renewal = desk.issue(renewalFile, "--slots", "10", "--valid-until", "2031-12-31");
writeFileSync(renewalFile, renewal);
await page.getByLabel("Choose a file: the vendor’s file").setInputFiles(renewalFile);
await page.getByText("CAD is renewed").waitFor();
const notice = (await page.getByRole("status").filter({ hasText: "renewed" }).textContent()) ?? "";
check("a renewal shows how the number of slots changed", notice.includes("Slots: 3 → 10"), notice);
check(
  "a renewal shows how its validity changed",
  /Valid: no expiry → until 1 Jan 2032/.test(notice),
  notice,
);
await page.getByText("1 of 10 slots in use").first().waitFor();
await opened.checkAccessibility("licenses page after a renewal");
await dropFile(page, answer, "license.jwt");
await page.getByText("install the newest").waitFor();
check("a license older than the installed one is refused", true);

// The license of a new vendor is installed once the vendor is trusted. A request can be answered
// once.
const newDesk = createVendorDesk(join(root, "third"), "Third", "PLOT");
const requestFile = join(root, "next-request.jwt");
BERTH_COMMANDS.run("license", "request", "--data", site.folder, "--out", requestFile);
const secondAnswer = desk.issue(requestFile, "--product", "CAD", "--new", "--slots", "1");
const firstAnswer = newDesk.issue(requestFile, "--product", "PLOT", "--slots", "1");
await dropFile(page, firstAnswer, "license.jwt");
await page.getByText("the installation is retried automatically").waitFor();
await dropFile(page, newDesk.trust, "trust.jwt");
await page.getByRole("button", { name: /trust this vendor/ }).click();
await page.getByText("PLOT is installed").waitFor();
check("a license of an untrusted vendor is installed once the vendor is trusted", true);
await dropFile(page, secondAnswer, "license.jwt");
await page.getByText("Its request has already been answered by another license").waitFor();
await opened.checkAccessibility("licenses page, a request answered twice");

// A license for another machine.
const otherSite = await serveSite(join(root, "elsewhere"));
const otherRequest = join(root, "other-request.jwt");
BERTH_COMMANDS.run(
  "license",
  "request",
  "--data",
  otherSite.folder,
  "--product",
  "CAD",
  "--out",
  otherRequest,
);
await otherSite.stop();
await dropFile(page, desk.issue(otherRequest, "--slots", "1"), "license.jwt");
await page.getByText("It was issued for another machine.").waitFor();
check("a license for another machine is refused with that reason", true);
await dropFile(page, readFileSync(otherRequest, "utf8"), "request.jwt");
await page.getByText("This is a license request").waitFor();
check("a license request dropped instead of a license is recognized as a request", true);

// A product with hostile names, and with everything that terms can contain.
const terms = join(root, "terms.json");
writeFileSync(terms, JSON.stringify(hostileTerms()));
BERTH_COMMANDS.run(
  "license",
  "request",
  "--data",
  site.folder,
  "--product",
  HOSTILE,
  "--out",
  requestFile,
);
await page.getByText("Or paste its text").click();
const frames = splitIntoFrames(desk.issue(requestFile, "--terms", terms));
check("the license with these terms needs several QR codes", frames.length > 1, frames.length);
await page.getByLabel("Text of the vendor’s file").fill(frames.toReversed().join("\n"));
await page.getByRole("button", { name: "Use this text" }).click();
await page.getByText("is installed").waitFor();
for (const [user, count] of [
  ["ada", 40],
  ["<svg onload=alert(1)>", 55],
] as const) {
  await tryRegister(site.url, user, HOSTILE);
  await fetch(`${site.url}api/v4/add_consumption`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ product: HOSTILE, consumptions: String(count) }),
  });
}
await page.getByText("95 of 100 consumed").first().waitFor();
await opened.checkLayouts("licenses");
await page.getByRole("link", { name: "<i>Mesh</i> Pro" }).first().click();
await page.getByRole("heading", { name: "<i>Mesh</i> Pro" }).waitFor();
await page.goBack();
await page.setViewportSize({ width: 1280, height: 300 });
await page.getByRole("link", { name: "<i>Mesh</i> Pro" }).first().click();
await page.getByText("Vendor and hardware").waitFor();
check(
  "a license opens at the top of its page, however far the list was scrolled",
  await opened.isEventually("scrollY === 0"),
  await page.evaluate<number>("scrollY"),
);
await page.setViewportSize({ width: 1280, height: 800 });
check(
  "a customer name that is HTML is shown as text",
  await isShown(page.getByText("<script>alert(1)</script>")),
);
check(
  "the floating feature has a slot bar",
  (await page.locator(".features .slot-bar").count()) === 1,
);
await page.getByText("installed:").first().waitFor();
await opened.checkLayouts("license");

// Returning the license: with a confirmation dialog and a receipt.
await page.getByRole("button", { name: "Return…" }).click();
await page.getByText("This is permanent").waitFor();
check(
  "the return dialog says how many slots are in use",
  await isShown(page.getByText("2 slots are in use")),
);
await opened.checkAccessibility("licenses page, the return dialog");
await opened.saveScreenshot("return-license");
await page.getByRole("button", { name: "Cancel" }).click();
const licenses = JSON.parse(
  BERTH_COMMANDS.run("license", "list", "--data", site.folder, "--json"),
) as unknown[];
check("cancelling the return dialog returns no license", licenses.length === 3);
await page.getByRole("button", { name: "Return…" }).click();
await page.getByRole("button", { name: "Return the license permanently" }).click();
await page.getByText("was returned").waitFor();
await opened.checkAccessibility("licenses page, the receipt of a return");
await opened.saveScreenshot("receipt");
const [receipt] = await Promise.all([
  page.waitForEvent("download"),
  page.getByRole("button", { name: "Save as file" }).click(),
]);
await receipt.saveAs(join(root, "receipt.jwt"));
const receiveOutput = BERTH_COMMANDS.run(
  "vendor",
  "receive",
  join(root, "receipt.jwt"),
  "--dir",
  desk.folder,
);
check(
  "the vendor's desk accepts the receipt of a return",
  /is recorded as returned/.test(receiveOutput),
  receiveOutput,
);
await page.keyboard.press("Escape");
await page.getByRole("button", { name: "Show the receipt" }).click();
await page.getByRole("button", { name: "I have the receipt" }).click();
await page.getByText("This license is not installed").waitFor();

// With cloud keys set, the request is also shown in the form of the licensing cloud.
await fetch("http://berth/api/v4/setKeys?apiKey=a&sharedKey=s", {
  unix: join(site.folder, "berth.sock"),
});
await page.goto(`${site.url}#/licenses/request/CAD`);
await page.getByText("A license for CAD is installed: the answer renews it").waitFor();
await page.getByLabel("License key (optional)").fill("K-9");
await page.getByRole("button", { name: "Create the request" }).click();
await page.getByText("For a licensing cloud").waitFor();
await opened.checkAccessibility("request wizard, request for a licensing cloud");

opened.checkNoErrors("the licenses page");
await opened.close();
await site.stop();
finish();

function hostileTerms(): object {
  return {
    product_name: "<i>Mesh</i> Pro",
    customer: "<script>alert(1)</script>",
    metadata: "order 4711 <u>urgent</u>",
    slots: 60,
    timeout_minutes: TIMEOUT_MINUTES,
    valid_until: "2031-05-01T00:00:00.000Z",
    grace_hours: 72,
    consumption: { max: 100, overages: 10, negative: false, period: "monthly" },
    features: [
      {
        code: "view",
        name: "<u>View</u>",
        metadata: null,
        expires: null,
        floating: { slots: 4, timeout_minutes: 5 },
        consumption: null,
      },
      {
        code: "plot",
        name: "plot",
        metadata: null,
        expires: null,
        floating: null,
        consumption: { max: 50, overages: 0, negative: false, period: null },
      },
    ],
  };
}
