// The Clock settings: how an operator follows or sets back the time after the system clock jumped.
// libfaketime moves the clock of a real server.
import { DAY } from "../../src/domain/time.ts";
import { findOrInstallFaketime, FaketimeMachine } from "../faults/clock/faketime-machine.ts";
import { atEnd, check, finish, skip } from "../support/suite-harness.ts";
import { OperatorPage } from "./operator-page.ts";

const library = findOrInstallFaketime();
if (library === null) {
  skip(
    "the clock settings with a system clock that jumps",
    "libfaketime is missing: apt-get install libfaketime",
  );
  finish();
}
const site = new FaketimeMachine(library);
atEnd(() => void site.tearDown());
await site.setUp();
// A slot of a license that expires: from now on the server watches the clock.
await site.call("register", { product: "CAD", user: "ada" });

const opened = await OperatorPage.open(`${site.url}/#/settings/clock`);
const { page } = opened;
const setClockAhead = async (days: number): Promise<void> => {
  site.setClockOffset(days * DAY);
  await page.getByRole("button", { name: "Refresh" }).click();
};
await page.getByText("In sync with the system clock.").waitFor();

await setClockAhead(60);
await page.getByText("far ahead and is not followed yet").waitFor();
await opened.checkLayouts("clock-ahead");
await page.getByRole("button", { name: "Accept the system clock" }).click();
await page.getByText("It cannot be set back").waitFor();
check(
  "opening the dialog does not accept a system clock that is ahead",
  (await site.runClockCommand()).state === "ahead",
);
await page.getByRole("dialog").getByRole("button", { name: "Accept the system clock" }).click();
await page.getByText("In sync with the system clock.").waitFor();
check(
  "confirming the dialog accepts a system clock that is ahead",
  (await site.runClockCommand()).state === "ok",
);

await site.call("register", { product: "CAD", user: "ada" });
await setClockAhead(57);
await page.getByText("a day or more behind").waitFor();
await page.getByRole("button", { name: "Create a code" }).click();
const code = (await page.locator(".secret code").textContent()) ?? "";
await opened.checkLayouts("clock-behind");
const answer = site.path("answer");
const out = ["--dir", site.path("desk"), "--out", answer];
await site.runBerthOrThrow("vendor", "time", "--code", code, ...out);
await page.getByLabel("Choose a file: the vendor’s answer").setInputFiles(answer);
await page.getByText("The vendor’s answer is loaded.").waitFor();
check(
  "loading the vendor's answer alone does not set the time back",
  (await site.runClockCommand()).state === "suspect",
);
await page.getByRole("button", { name: "Set the time back" }).click();
await page.getByText("In sync with the system clock.").waitFor();
check(
  "the time is set back with the vendor's answer once the operator confirms it",
  (await site.runClockCommand()).state === "ok",
);

opened.checkNoErrors("the clock settings");
await opened.close();
await site.tearDown();
finish();
