// Settings, Backups: schedule, list, back up now, verify, download and the command to restore.
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { flipBit } from "../support/backup-site.ts";
import { makeTempFolder } from "../support/suite-harness.ts";
import { runBinary } from "../support/binary.ts";
import {
  createToken,
  expectEventually,
  openSignedIn,
  serveSite,
  type OperatorPage,
  type ServedSite,
} from "./operator-page.ts";

const SECTION = "#/settings/backups";

async function openBackups(
  ...flags: string[]
): Promise<{ site: ServedSite; opened: OperatorPage }> {
  const site = await serveSite(undefined, ...flags);
  const opened = await openSignedIn(site, await createToken(site), SECTION);
  return { site, opened };
}

const listFiles = ({ folder }: ServedSite): string[] => readdirSync(join(folder, "backups"));

test("a site without backups shows when the first one is due, and can make one now", async () => {
  const { site, opened } = await openBackups();
  const { page } = opened;
  await page.getByText("No backups yet").waitFor();
  await page.getByText("Every day at 02:30, in the time zone of the server").waitFor();
  await page.getByText("restore FILE").waitFor();
  await opened.checkLayouts("settings-backups-empty");
  await page.getByRole("button", { name: "Back up now" }).click();
  await page.getByText("Verified when made").waitFor();
  const [name = ""] = listFiles(site);
  await page.getByText(`${name} is made and verified.`).waitFor();
  const command = page.locator(".command code").filter({ hasText: "restore" });
  await expectEventually(
    () => command.textContent(),
    (await readPrefix(site)).replace("NAME", name),
  );
  await opened.checkLayouts("settings-backups");
});

/** The command to restore, as it must be shown. */
async function readPrefix({ url, folder }: ServedSite): Promise<string> {
  const token = await createToken({ folder }, "command");
  const reply = await fetch(`${url}/api/admin/v1/status`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { command_line: line } = (await reply.json()) as {
    command_line: { executable: string; needs_sudo: boolean; data_folder: string };
  };
  const data = line.data_folder === "" ? "" : ` --data ${line.data_folder}`;
  const sudo = line.needs_sudo ? "sudo " : "";
  return `${sudo}${line.executable} restore ${folder}/backups/NAME${data}`;
}

test("a backup is downloaded after a question, and berth verify accepts it", async () => {
  const { opened } = await openBackups();
  const { page } = opened;
  await page.getByRole("button", { name: "Back up now" }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: /^Download / }).click();
  await page.getByText("It holds the appliance’s key").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Download" }).click();
  const path = join(makeTempFolder(), (await download).suggestedFilename());
  expect(path).toEndWith(".berth");
  await (await download).saveAs(path);
  expect((await runBinary(["verify", path])).code).toBe(0);
  await page.getByText("is saved.").waitFor();
});

test("saving a backup on this computer asks first, and keeps none on the server", async () => {
  const { site, opened } = await openBackups();
  const { page } = opened;
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save a backup" }).click();
  await page.getByText("It holds the appliance’s key").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Save a backup" }).click();
  const path = join(makeTempFolder(), (await download).suggestedFilename());
  expect(path).toEndWith(".berth");
  await (await download).saveAs(path);
  expect((await runBinary(["verify", path])).code).toBe(0);
  expect(readdirSync(site.folder)).not.toContain("backups");
});

test("a check shows that a backup is intact, and later that it is damaged", async () => {
  const { site, opened } = await openBackups();
  const { page } = opened;
  await page.getByRole("button", { name: "Back up now" }).click();
  await page.getByRole("button", { name: /^Verify / }).click();
  await page.getByText("Verified just now").waitFor();
  flipBit(join(site.folder, "backups", listFiles(site)[0] ?? ""), 3_000);
  await page.getByRole("button", { name: /^Verify / }).click();
  await page.getByText("Cannot be restored: ").waitFor();
  await opened.checkAccessibility("settings page, a damaged backup");
});

test("the schedule is changed on the page; a wrong time is refused beside its field", async () => {
  const { opened } = await openBackups();
  const { page } = opened;
  await page.getByRole("button", { name: "Change…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("How often").selectOption({ label: "Every week" });
  await dialog.getByLabel("Day").selectOption({ label: "Saturday" });
  await dialog.getByLabel("Time").fill("25:00");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("must be off, hourly, daily HH:MM or weekly DAY HH:MM").waitFor();
  expect(await dialog.getByLabel("Time").getAttribute("aria-invalid")).toBe("true");
  await opened.checkAccessibility("settings page, a wrong time of a schedule");
  await dialog.getByLabel("Time").fill("04:15");
  await dialog.getByLabel("Backups to keep").fill("3");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("Every Saturday at 04:15").waitFor();
  await page.getByText("The newest 3").waitFor();
});

test("a schedule that a flag sets says where, and a failure is shown with its reason", async () => {
  const directory = join(makeTempFolder(), "share");
  const flags = ["--backup-schedule", "hourly", "--backup-keep", "2", "--backup-dir", directory];
  const { opened } = await openBackups(...flags);
  const { page } = opened;
  await page.getByText("Every hour").first().waitFor();
  await page.getByText("backup_schedule cannot be changed here").waitFor();
  expect(await page.getByRole("button", { name: "Change…" }).count()).toBe(0);
  await page.getByRole("button", { name: "Back up now" }).click();
  await page.getByText(`the backup folder ${directory} does not exist`).first().waitFor();
  await page.getByText(/^The backup of .* failed$/).waitFor();
  await opened.checkLayouts("settings-backups-failed");
});
