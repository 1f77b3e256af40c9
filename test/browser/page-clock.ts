// The ways out that the page offers when the machine's clock is wrong: a real server on a machine
// whose clock jumps.
import { DAY } from "../../src/domain/time.ts";
import { findOrInstallFaketime, FaketimeMachine } from "../faults/clock/faketime-machine.ts";
import { atEnd, check, finish, skip } from "../support/suite-harness.ts";
import { OperatorPage } from "./operator-page.ts";

const library = findOrInstallFaketime();
if (library === null) {
  skip("a clock that jumps", "libfaketime is missing: apt-get install libfaketime");
  finish();
}
const site = new FaketimeMachine(library);
atEnd(() => void site.tearDown());
await site.setUp();
// On a license with an end: from then on it matters what time it is.
await site.call("register", { product: "CAD", user: "ada" });

const opened = await OperatorPage.open(`${site.url}/#/settings/clock`);
const { page } = opened;
const jump = async (days: number): Promise<void> => {
  site.setClockOffset(days * DAY);
  await page.getByRole("button", { name: "Look again" }).click();
};
await page.getByText("The machine’s clock is followed.").waitFor();

await jump(60);
await page.getByText("far ahead and not believed yet").waitFor();
await opened.checkLayouts("clock-ahead");
await page.getByRole("button", { name: "The machine’s clock is right" }).click();
await page.getByText("It cannot be set back").waitFor();
check(
  "it asks first, and nothing has changed yet",
  (await site.runClockCommand()).state === "ahead",
);
await page
  .getByRole("dialog")
  .getByRole("button", { name: "The machine’s clock is right" })
  .click();
await page.getByText("The machine’s clock is followed.").waitFor();
check(
  "a clock that is right is followed on the operator's word",
  (await site.runClockCommand()).state === "ok",
);

await site.call("register", { product: "CAD", user: "ada" });
await jump(57);
await page.getByText("a day or more behind").waitFor();
await page.getByRole("button", { name: "Make a code" }).click();
const code = (await page.locator(".secret code").textContent()) ?? "";
await opened.checkLayouts("clock-behind");
const answer = site.path("answer");
const out = ["--dir", site.path("desk"), "--out", answer];
await site.runBerthOrThrow("vendor", "time", "--code", code, ...out);
await page.getByLabel("Choose a file: the vendor’s answer").setInputFiles(answer);
await page.getByText("The vendor’s answer is here.").waitFor();
check("nor does a file alone set it back", (await site.runClockCommand()).state === "suspect");
await page.getByRole("button", { name: "Set time back" }).click();
await page.getByText("The machine’s clock is followed.").waitFor();
check("time is set back by the vendor's word", (await site.runClockCommand()).state === "ok");

opened.checkNoErrors("the clock");
await opened.close();
await site.tearDown();
finish();
