// A vendor's key was stolen: the vendor retires it, and a running site learns of it.
import { expect, test } from "bun:test";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runBerth, runOrThrow, runJsonOrThrow, startServer } from "../support/run-berth.ts";
import { tempFolder } from "../support/temp-folder.ts";

interface RetirementReply {
  readonly document: string;
  readonly fingerprint: string;
  readonly retired: { readonly key: string }[];
  readonly to_reissue: number[];
}

test("a site that took the successor refuses what the stolen key signs, and takes re-issued licenses", async () => {
  const root = tempFolder();
  const path = (name: string): string => join(root, name);
  const [dir, data] = [
    ["--dir", path("desk")],
    ["--data", path("site")],
  ];
  const named = ["--name", "Acme", "--product", "CAD", "--no-passphrase"];
  const { vendor } = await runJsonOrThrow<{ vendor: string }>(["vendor", "init", ...dir, ...named]);
  const site = await startServer(["serve", ...data]);
  const trust = (file: string): Promise<Response> =>
    fetch(`${site.url}/api/admin/v1/trust/add`, {
      method: "POST",
      body: JSON.stringify({ license: readFileSync(path(`desk/${file}`), "utf8") }),
      headers: { "content-type": "application/json" },
    });
  const add = (file: string) => runBerth(["license", "add", path(file), ...data]);
  const request = async (file: string): Promise<string[]> => {
    await runOrThrow(["license", "request", ...data, "--product", "CAD", "--out", path(file)]);
    return ["--request", path(file), "--allow-weak-binding"];
  };

  expect((await trust("trust.jwt")).status).toBe(200);
  const asked = await request("request.jwt");
  await runOrThrow([
    "vendor",
    "issue",
    ...dir,
    ...asked,
    "--slots",
    "3",
    "--out",
    path("license.jwt"),
  ]);
  expect((await add("license.jwt")).code).toBe(0);

  // A copy of the desk is what a thief has.
  cpSync(path("desk"), path("thief"), { recursive: true });
  const words = ["vendor", "successor", ...dir, "--no-passphrase", "--retire-old"];
  const retired = await runJsonOrThrow<RetirementReply>(words);
  expect(retired).toMatchObject({ document: "successor-2.jwt", retired: [{ key: vendor }] });
  const [id = 0, ...more] = retired.to_reissue;
  expect(more).toEqual([]);
  expect(await runOrThrow(["vendor", "show", ...dir])).toContain("1 license to be re-issued");
  expect((await trust("successor-2.jwt")).status).toBe(200);

  const thief = ["vendor", "issue", "--dir", path("thief")];
  const forged = ["--renew", String(id), "--slots", "999", "--out", path("forged.jwt")];
  await runOrThrow([...thief, ...forged]);
  const refused = await add("forged.jwt");
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("vendor retired")]);
  expect(refused.stderr).toContain(
    "berth: hint: ask the vendor to sign it again with its new key\n",
  );

  const renewed = ["--renew", String(id), "--out", path("renewed.jwt")];
  await runOrThrow(["vendor", "issue", ...dir, ...renewed]);
  expect((await add("renewed.jwt")).code).toBe(0);
  const left = await runJsonOrThrow<unknown[]>(["vendor", "list", ...dir, "--to-reissue"]);
  expect(left).toEqual([]);
  await site.stop();
  const licenses = await runJsonOrThrow<object[]>(["license", "list", ...data]);
  expect(licenses).toHaveLength(1);
  expect((await runBerth(["verify", ...data])).code).toBe(0);
});

test.each([
  [["--retire-from", "2027-01-01"], "--retire-from is only valid with --retire-old"],
  [["--retire-old", "--retire-from", "2027-02-30"], "--retire-from 2027-02-30 is not a day"],
  [["--retire-old", "--retire-from", "soon"], "--retire-from soon is not a day"],
])("vendor successor refuses %j and changes nothing", async (flags, wrong) => {
  const dir = ["--dir", join(tempFolder(), "desk")];
  await runOrThrow([
    "vendor",
    "init",
    ...dir,
    "--name",
    "A",
    "--product",
    "CAD",
    "--no-passphrase",
  ]);
  const said = await runBerth(["vendor", "successor", ...dir, "--no-passphrase", ...flags]);
  expect([said.code, said.stdout]).toEqual([2, ""]);
  expect(said.stderr).toContain(wrong);
  const shown = await runJsonOrThrow<{ keys: unknown[] }>(["vendor", "show", ...dir]);
  expect(shown.keys).toHaveLength(1);
});
