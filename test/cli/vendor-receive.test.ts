import { expect, test } from "bun:test";
import { berth, done, doneJson } from "../support/berth.ts";
import { DeskLoop } from "../support/desk-loop.ts";

interface ListedLicense {
  readonly license_id: number;
  readonly serial: number;
  readonly state: string;
}

test("a license that a site gave back while the desk renewed it is received, and a new request gets a new one", async () => {
  const loop = new DeskLoop();
  await loop.open("CAD");
  await done(loop.add(await loop.answer("CAD", "--slots", "3")));
  await done(loop.add(await loop.answer("CAD", "--slots", "4")));
  const listed = () => doneJson<ListedLicense[]>(["vendor", "list", ...loop.desk]);
  const [{ license_id: id } = { license_id: 0 }] = await listed();
  const [receipt, renewal] = [loop.path("receipt.jwt"), loop.path("renewal.jwt")];
  const remove = ["license", "remove", String(id), "--yes", "--out", receipt, ...loop.data];
  await done(remove);
  const renew = ["vendor", "issue", ...loop.desk, "--renew", String(id)];
  await done([...renew, "--out", renewal]);
  const refused = await berth(loop.add(renewal));
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("was returned on")]);

  const received = await done(["vendor", "receive", receipt, ...loop.desk]);
  expect(received).toBe(`license ${id}, serial 2, is recorded as returned\n`);
  expect(await listed()).toMatchObject([{ license_id: id, serial: 3, state: "returned" }]);
  const again = await berth([...renew, "--slots", "9"]);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("was returned on")]);

  await done(loop.add(await loop.answer("CAD", "--slots", "5")));
  const next = (await listed()).find(({ license_id }) => license_id !== id);
  expect(next).toMatchObject({ serial: 1, state: "active" });
});
