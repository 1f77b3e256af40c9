// Licenses as an operator handles them on the page: from an empty data folder to a registered user
// by file, a renewal, every refusal a vendor's file can meet, and giving it back.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { splitIntoFrames } from "../../src/license/qr.ts";
import { check, finish, makeTempFolder } from "../support/suite-harness.ts";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import { HOSTILE, isShown, OperatorPage, serveSite } from "./operator-page.ts";
import { dropFile, tryRegister, createVendorDesk } from "./vendor-desk.ts";

/** A slot is held for longer than this takes, on a machine with much else to do, too. */
const HELD_MINUTES = 600;
const HELD = ["--timeout-minutes", String(HELD_MINUTES)];

const root = makeTempFolder();
const desk = createVendorDesk(join(root, "desk"), "Acme & <b>Sons</b>", "CAD", HOSTILE);
const stranger = createVendorDesk(join(root, "other"), "Stranger", "CAD");
const site = await serveSite();
const opened = await OperatorPage.open(`${site.url}#/licenses`);
const { page } = opened;

await opened.createToken();
await page.getByText("No license is installed yet.").waitFor();
await opened.checkAccessibility("no license yet");
await opened.saveScreenshot("licenses-none");

// The walk: trust, product, request, send, answer.
await page.getByRole("link", { name: "Ask the vendor" }).click();
await page.getByRole("heading", { name: "Step 1 of 5: Vendor" }).waitFor();
check("nobody is trusted yet, so nobody can be asked", await shut("Go on"));
await opened.checkAccessibility("whom to trust");
await dropFile(page, desk.trust, "trust.jwt");
await page.getByRole("group", { name: "Trust this vendor?" }).waitFor();
const shown = (await page.locator(".fingerprint").textContent()) ?? "";
check("the fingerprint is there to compare", shown === desk.fingerprint, shown);
const trusted = BERTH_COMMANDS.run("trust", "list", "--data", site.folder);
check("and nothing is trusted before somebody did", /no vendor is trusted/.test(trusted), trusted);
await opened.checkAccessibility("a fingerprint to compare");
await opened.saveScreenshot("ask-1-fingerprint");
await page.getByRole("button", { name: /accept this vendor/ }).click();
await page.getByText("Trusted here").waitFor();
await page.getByRole("button", { name: "Go on" }).click();

await page.getByRole("heading", { name: "Step 2 of 5: Product" }).waitFor();
check("a hostile product is a word like any other", await isShown(page.getByText(HOSTILE)));
await page.getByRole("button", { name: "CAD", exact: true }).click();
await opened.checkAccessibility("which product");
await opened.saveScreenshot("ask-2-product");
await page.getByRole("button", { name: "Make the request" }).click();

await page.getByRole("heading", { name: "Step 3 of 5: Request" }).waitFor();
await page.getByRole("button", { name: "Show as QR code" }).click();
await page.getByText("frame 1 of").waitFor();
await opened.checkLayouts("ask-3-request");
await page.getByText("frame 2 of 2").waitFor();
await page.getByText("frame 1 of 2").waitFor();
check("a camera gets one frame after the other, over and over", true);
// Which one it leads to depends on how long we took to press it.
await page.getByRole("button", { name: "Previous" }).click();
const stopped = await isShown(page.getByRole("button", { name: "Play" }));
check("whoever turns them by hand stops the play", stopped);
const caption = page.getByText(/^frame \d of 2/);
const [still, turned] =
  (await caption.textContent()) === "frame 1 of 2"
    ? ["frame 1 of 2", "frame 2 of 2"]
    : ["frame 2 of 2", "frame 1 of 2"];
await Bun.sleep(3_500);
check("and it stays stopped", (await caption.textContent()) === still, still);
await page.getByRole("button", { name: "Previous" }).click();
check("each time they are turned, another one comes", await isShown(page.getByText(turned)));
const [download] = await Promise.all([
  page.waitForEvent("download"),
  page.getByRole("button", { name: "Save as file" }).click(),
]);
const request = join(root, download.suggestedFilename());
await download.saveAs(request);
await page.getByRole("button", { name: "I have it" }).click();
await page.getByText("berth vendor issue").waitFor();
await opened.checkAccessibility("sending it");
await opened.saveScreenshot("ask-4-send");

const foreign = stranger.issue(request, "--slots", "9");
const answer = desk.issue(request, "--slots", "3", "--borrow-hours", "48", ...HELD);
await page.getByRole("button", { name: "I have the answer" }).click();
await dropFile(page, foreign, "license.jwt");
await page.getByText("no trusted vendor has this key for this product").waitFor();
check(
  "a stranger's license says what is missing",
  await isShown(page.getByText("Drop the vendor’s trust file here")),
);
await opened.checkAccessibility("a stranger's license");
await dropFile(page, stranger.trust, "trust.jwt");
await page.getByRole("button", { name: /accept this vendor/ }).click();
await page.getByRole("alert").filter({ hasText: "no vendor is trusted" }).waitFor();
check("two vendors of one product: the second is refused", true);
await page.getByRole("button", { name: "Cancel" }).click();

const flipped = answer.replace(/.(?=.{20}$)/, (char) => (char === "A" ? "B" : "A"));
await dropFile(page, flipped, "license.jwt");
await page.getByText("Copy it again").waitFor();
check("a flipped bit is found", true);
await dropFile(page, answer, "license.jwt");
await page.getByText("CAD is installed").waitFor();
await opened.checkAccessibility("installed");
await opened.saveScreenshot("ask-5-answer");
check("from nothing to a registered user", await tryRegister(site.url, "ada", "CAD"));

await dropFile(page, answer, "license.jwt");
await page.getByText("CAD was installed already").waitFor();
check("the same file twice changes nothing", true);

// A renewal, chosen on the list: what changed is said, and who holds a slot keeps it.
await page.goto(`${site.url}#/licenses`);
const again = join(root, "again.jwt");
BERTH_COMMANDS.run("license", "request", "--data", site.folder, "--product", "CAD", "--out", again);
const renewal = desk.issue(again, "--slots", "10", "--valid-until", "2031-12-31");
writeFileSync(again, renewal);
await page.getByLabel("Choose a file: the vendor’s file").setInputFiles(again);
await page.getByText("CAD is renewed").waitFor();
const notice = (await page.getByRole("status").filter({ hasText: "renewed" }).textContent()) ?? "";
check("a renewal tells its slots", notice.includes("Slots: 3 → 10"), notice);
check("and its end", /Valid: no end date → until 1 Jan 2032/.test(notice), notice);
await page.getByText("1 of 10 slots in use").first().waitFor();
await opened.checkAccessibility("renewed");
await dropFile(page, answer, "license.jwt");
await page.getByText("take the newest").waitFor();
check("the older one does not come back", true);

// A vendor nobody knew: its license waits until somebody trusts it. And one request serves once.
const third = createVendorDesk(join(root, "third"), "Third", "PLOT");
const next = join(root, "next-request.jwt");
BERTH_COMMANDS.run("license", "request", "--data", site.folder, "--out", next);
const late = desk.issue(next, "--product", "CAD", "--new", "--slots", "1");
await dropFile(page, third.issue(next, "--product", "PLOT", "--slots", "1"), "license.jwt");
await page.getByText("this license is tried again by itself").waitFor();
await dropFile(page, third.trust, "trust.jwt");
await page.getByRole("button", { name: /accept this vendor/ }).click();
await page.getByText("PLOT is installed").waitFor();
check("a license waits for its vendor to be trusted", true);
await dropFile(page, late, "license.jwt");
await page.getByText("That request was answered by another license already").waitFor();
await opened.checkAccessibility("a request answered twice");

// Of another machine: told apart, with the way on.
const elsewhere = await serveSite(join(root, "elsewhere"));
const theirs = join(root, "theirs.jwt");
BERTH_COMMANDS.run(
  "license",
  "request",
  "--data",
  elsewhere.folder,
  "--product",
  "CAD",
  "--out",
  theirs,
);
await elsewhere.stop();
await dropFile(page, desk.issue(theirs, "--slots", "1"), "license.jwt");
await page.getByText("It was made for another machine.").waitFor();
check("another site's license is told apart", true);
await dropFile(page, readFileSync(theirs, "utf8"), "request.jwt");
await page.getByText("it goes to the vendor").waitFor();
check("a request is not taken for an answer", true);

// Another product with names that are not ours, and everything terms can hold.
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
  next,
);
await page.getByText("Or paste its text").click();
const scanned = splitIntoFrames(desk.issue(next, "--terms", terms));
check("an answer of several QR codes", scanned.length > 1, scanned.length);
await page.getByLabel("Text of the vendor’s file").fill(scanned.toReversed().join("\n"));
await page.getByRole("button", { name: "Take this text" }).click();
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
  "a license is shown from its top, wherever the list was",
  await opened.isEventually("scrollY === 0"),
  await page.evaluate<number>("scrollY"),
);
await page.setViewportSize({ width: 1280, height: 800 });
check("a customer's name is text", await isShown(page.getByText("<script>alert(1)</script>")));
check("every feature has its bar", (await page.locator(".features .slot-bar").count()) === 1);
await page.getByText("came in").first().waitFor();
await opened.checkLayouts("license");

// Giving it back: asked first, for good, with a receipt.
await page.getByRole("button", { name: "Give back…" }).click();
await page.getByText("This is for good").waitFor();
check("it says whose slots end", await isShown(page.getByText("2 slots are held now")));
await opened.checkAccessibility("give it back?");
await opened.saveScreenshot("give-back");
await page.getByRole("button", { name: "Cancel" }).click();
const kept = JSON.parse(
  BERTH_COMMANDS.run("license", "list", "--data", site.folder, "--json"),
) as unknown[];
check("asked and left, nothing is given back", kept.length === 3);
await page.getByRole("button", { name: "Give back…" }).click();
await page.getByRole("button", { name: "Give it back for good" }).click();
await page.getByText("is given back").waitFor();
await opened.checkAccessibility("the receipt");
await opened.saveScreenshot("receipt");
const [receipt] = await Promise.all([
  page.waitForEvent("download"),
  page.getByRole("button", { name: "Save as file" }).click(),
]);
await receipt.saveAs(join(root, "receipt.jwt"));
const received = BERTH_COMMANDS.run(
  "vendor",
  "receive",
  join(root, "receipt.jwt"),
  "--dir",
  desk.folder,
);
check("the vendor takes the receipt", /is recorded as returned/.test(received), received);
await page.keyboard.press("Escape");
await page.getByRole("button", { name: "Show the receipt" }).click();
await page.getByRole("button", { name: "I have the receipt" }).click();
await page.getByText("This license is not installed").waitFor();

// With the cloud's keys set, the same question in the cloud's own form.
await fetch("http://berth/api/v4/setKeys?apiKey=a&sharedKey=s", {
  unix: join(site.folder, "berth.sock"),
});
await page.goto(`${site.url}#/licenses/request/CAD`);
await page.getByText("A license for CAD is installed: the answer renews it").waitFor();
await page.getByLabel("License key (optional)").fill("K-9");
await page.getByRole("button", { name: "Make the request" }).click();
await page.getByText("For a licensing cloud").waitFor();
await opened.checkAccessibility("a request for a cloud, too");

opened.checkNoErrors("licenses");
await opened.close();
await site.stop();
finish();

async function shut(name: string): Promise<boolean> {
  return page.getByRole("button", { name }).isDisabled();
}

function hostileTerms(): object {
  return {
    product_name: "<i>Mesh</i> Pro",
    customer: "<script>alert(1)</script>",
    metadata: "order 4711 <u>urgent</u>",
    slots: 60,
    timeout_minutes: HELD_MINUTES,
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
