import { expect, test } from "bun:test";
import { runBerth, runOrThrow, runJsonOrThrow } from "../../../support/run-berth.ts";
import { OfflineExchange } from "../../../support/offline-exchange.ts";

interface ListedLicense {
  readonly license_id: number;
  readonly serial: number;
  readonly state: string;
}

test("berth vendor receive records a license returned during a renewal, and the next request gets a new one", async () => {
  const exchange = new OfflineExchange();
  await exchange.open("CAD");
  await runOrThrow(
    exchange.addLicenseCommand(await exchange.requestAndIssue("CAD", "--slots", "3")),
  );
  await runOrThrow(
    exchange.addLicenseCommand(await exchange.requestAndIssue("CAD", "--slots", "4")),
  );
  const listLicenses = () =>
    runJsonOrThrow<ListedLicense[]>(["vendor", "list", ...exchange.deskFlags]);
  const [{ license_id: id } = { license_id: 0 }] = await listLicenses();
  const [receipt, renewal] = [exchange.path("receipt.jwt"), exchange.path("renewal.jwt")];
  const remove = [
    "license",
    "remove",
    String(id),
    "--yes",
    "--out",
    receipt,
    ...exchange.dataFlags,
  ];
  await runOrThrow(remove);
  const renew = ["vendor", "issue", ...exchange.deskFlags, "--renew", String(id)];
  await runOrThrow([...renew, "--out", renewal]);
  const refused = await runBerth(exchange.addLicenseCommand(renewal));
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("was returned on")]);

  const received = await runOrThrow(["vendor", "receive", receipt, ...exchange.deskFlags]);
  expect(received).toBe(`license ${id}, serial 2, is recorded as returned\n`);
  expect(await listLicenses()).toMatchObject([{ license_id: id, serial: 3, state: "returned" }]);
  const again = await runBerth([...renew, "--slots", "9"]);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("was returned on")]);

  const terms = ["--slots", "5", "--valid-until", "never"];
  await runOrThrow(exchange.addLicenseCommand(await exchange.requestAndIssue("CAD", ...terms)));
  const next = (await listLicenses()).find(({ license_id }) => license_id !== id);
  expect(next).toMatchObject({ serial: 1, state: "active" });
});
