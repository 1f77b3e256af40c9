import { expect, test } from "bun:test";
import { runOrThrow, runJsonOrThrow } from "../../../support/run-berth.ts";
import { OfflineExchange } from "../../../support/offline-exchange.ts";

interface AddOutput {
  readonly id: number;
  readonly changes: readonly string[] | null;
}

test("berth license add prints what a renewal changed, and no changes for a new license", async () => {
  const exchange = new OfflineExchange();
  await exchange.open("CAD");
  const until = (year: number) => ["--valid-until", `${year}-01-01T00:00:00Z`];
  const first = await exchange.requestAndIssue("CAD", "--slots", "3", ...until(2097));
  const { id, changes } = await runJsonOrThrow<AddOutput>(exchange.addLicenseCommand(first));
  expect(changes).toBeNull();
  expect(await runOrThrow(exchange.addLicenseCommand(first))).toBe(
    `license ${id} for CAD is already installed\n`,
  );

  const renewal = await exchange.requestAndIssue(
    "CAD",
    "--slots",
    "8",
    ...until(2099),
    "--feature",
    "PRO",
  );
  expect(await runOrThrow(exchange.addLicenseCommand(renewal))).toBe(
    `license ${id} for CAD is renewed: slots 3 → 8, ends 2099-01-01T00:00:00Z (was 2097-01-01T00:00:00Z), feature PRO added\n`,
  );
  expect((await runJsonOrThrow<AddOutput>(exchange.addLicenseCommand(renewal))).changes).toBeNull();

  const same = await exchange.requestAndIssue("CAD");
  expect(await runOrThrow(exchange.addLicenseCommand(same))).toBe(
    `license ${id} for CAD is renewed: its terms did not change\n`,
  );
  const more = await exchange.requestAndIssue("CAD", "--slots", "9");
  expect((await runJsonOrThrow<AddOutput>(exchange.addLicenseCommand(more))).changes).toEqual([
    "slots 8 → 9",
  ]);
});
