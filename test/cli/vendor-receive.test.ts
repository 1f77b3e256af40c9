import { expect, test } from "bun:test";
import { runBerth, runOrThrow, runJsonOrThrow } from "../support/run-berth.ts";
import { OfflineExchange } from "../support/offline-exchange.ts";

interface ListedLicense {
  readonly license_id: number;
  readonly serial: number;
  readonly state: string;
}

test("a license that a site gave back while the desk renewed it is received, and a new request gets a new one", async () => {
  const loop = new OfflineExchange();
  await loop.open("CAD");
  await runOrThrow(loop.addLicenseCommand(await loop.requestAndIssue("CAD", "--slots", "3")));
  await runOrThrow(loop.addLicenseCommand(await loop.requestAndIssue("CAD", "--slots", "4")));
  const listed = () => runJsonOrThrow<ListedLicense[]>(["vendor", "list", ...loop.deskFlags]);
  const [{ license_id: id } = { license_id: 0 }] = await listed();
  const [receipt, renewal] = [loop.path("receipt.jwt"), loop.path("renewal.jwt")];
  const remove = ["license", "remove", String(id), "--yes", "--out", receipt, ...loop.dataFlags];
  await runOrThrow(remove);
  const renew = ["vendor", "issue", ...loop.deskFlags, "--renew", String(id)];
  await runOrThrow([...renew, "--out", renewal]);
  const refused = await runBerth(loop.addLicenseCommand(renewal));
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("was returned on")]);

  const received = await runOrThrow(["vendor", "receive", receipt, ...loop.deskFlags]);
  expect(received).toBe(`license ${id}, serial 2, is recorded as returned\n`);
  expect(await listed()).toMatchObject([{ license_id: id, serial: 3, state: "returned" }]);
  const again = await runBerth([...renew, "--slots", "9"]);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("was returned on")]);

  await runOrThrow(loop.addLicenseCommand(await loop.requestAndIssue("CAD", "--slots", "5")));
  const next = (await listed()).find(({ license_id }) => license_id !== id);
  expect(next).toMatchObject({ serial: 1, state: "active" });
});
