// The Clock settings: how an operator follows or sets back the time after the system clock jumped.
// libfaketime moves the clock of a real server.
import { afterEach, beforeEach, expect } from "bun:test";
import { DAY } from "../../src/domain/time.ts";
import { findOrInstallFaketime, FaketimeMachine } from "../faults/clock/faketime-machine.ts";
import { testUnless } from "../support/suite-harness.ts";
import { OperatorPage } from "./operator-page.ts";

const library = findOrInstallFaketime();
const testWithFaketime = testUnless(
  library === null ? "libfaketime is missing: apt-get install libfaketime" : null,
);

let site: FaketimeMachine;

beforeEach(async () => {
  if (library === null) return;
  site = new FaketimeMachine(library);
  await site.setUp();
  // A slot of a license that expires: from now on the server watches the clock.
  await site.call("register", { product: "CAD", user: "ada" });
});

afterEach(() => site?.tearDown());

testWithFaketime(
  "a system clock that is far ahead is followed once the operator confirms it",
  async () => {
    const opened = await openClockSettings();
    const { page } = opened;
    await setClockAhead(opened, 60);
    await page.getByText("far ahead and is not followed yet").waitFor();
    await opened.checkLayouts("clock-ahead");
    await page.getByRole("button", { name: "Accept the system clock" }).click();
    await page.getByText("It cannot be set back").waitFor();
    expect((await site.runClockCommand()).state).toBe("ahead");
    await page.getByRole("dialog").getByRole("button", { name: "Accept the system clock" }).click();
    await page.getByText("In sync with the system clock.").waitFor();
    expect((await site.runClockCommand()).state).toBe("ok");
  },
);

testWithFaketime(
  "the time is set back with the vendor's answer once the operator confirms it",
  async () => {
    site.setClockOffset(60 * DAY);
    await site.runClockCommand("accept");
    await site.call("register", { product: "CAD", user: "ada" });
    const opened = await openClockSettings();
    const { page } = opened;
    await setClockAhead(opened, 57);
    await page.getByText("a day or more behind").waitFor();
    await page.getByRole("button", { name: "Create a code" }).click();
    const code = (await page.locator(".secret code").textContent()) ?? "";
    await opened.checkLayouts("clock-behind");
    const answer = site.path("answer");
    const out = ["--dir", site.path("desk"), "--out", answer];
    await site.runBerthOrThrow("vendor", "time", "--code", code, ...out);
    await page.getByLabel("Choose a file: the vendor’s answer").setInputFiles(answer);
    await page.getByText("The vendor’s answer is loaded.").waitFor();
    expect((await site.runClockCommand()).state).toBe("suspect");
    await page.getByRole("button", { name: "Set the time back" }).click();
    await page.getByText("In sync with the system clock.").waitFor();
    expect((await site.runClockCommand()).state).toBe("ok");
  },
);

async function openClockSettings(): Promise<OperatorPage> {
  const opened = await OperatorPage.open(`${site.url}/#/settings/clock`);
  await opened.page.getByText("In sync with the system clock.").waitFor();
  return opened;
}

/** Sets the system clock, and lets the page read it. */
async function setClockAhead({ page }: OperatorPage, days: number): Promise<void> {
  site.setClockOffset(days * DAY);
  await page.getByRole("button", { name: "Refresh" }).click();
}
