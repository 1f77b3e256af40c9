// A vendor retires a stolen key, and a running site receives the new trust document.
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

test("a site with the successor key refuses licenses of the retired key and accepts re-issued ones", async () => {
  const root = tempFolder();
  const path = (name: string): string => join(root, name);
  const [dir, data] = [
    ["--dir", path("desk")],
    ["--data", path("site")],
  ];
  const initFlags = ["--name", "Acme", "--product", "CAD", "--no-passphrase"];
  const { vendor } = await runJsonOrThrow<{ vendor: string }>([
    "vendor",
    "init",
    ...dir,
    ...initFlags,
  ]);
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
  const requestFlags = await request("request.jwt");
  await runOrThrow([
    "vendor",
    "issue",
    ...dir,
    ...requestFlags,
    "--slots",
    "3",
    "--out",
    path("license.jwt"),
  ]);
  expect((await add("license.jwt")).code).toBe(0);

  // The thief has a copy of the desk.
  cpSync(path("desk"), path("thief"), { recursive: true });
  const args = ["vendor", "successor", ...dir, "--no-passphrase", "--retire-old"];
  const retired = await runJsonOrThrow<RetirementReply>(args);
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
  const toReissue = await runJsonOrThrow<unknown[]>(["vendor", "list", ...dir, "--to-reissue"]);
  expect(toReissue).toEqual([]);
  await site.stop();
  const licenses = await runJsonOrThrow<object[]>(["license", "list", ...data]);
  expect(licenses).toHaveLength(1);
  expect((await runBerth(["verify", ...data])).code).toBe(0);
});

test.each([
  [["--retire-from", "2027-01-01"], "--retire-from is only valid with --retire-old"],
  [["--retire-old", "--retire-from", "2027-02-30"], "--retire-from 2027-02-30 is not a day"],
  [["--retire-old", "--retire-from", "soon"], "--retire-from soon is not a day"],
])("berth vendor successor refuses %j and changes nothing", async (flags, message) => {
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
  const refused = await runBerth(["vendor", "successor", ...dir, "--no-passphrase", ...flags]);
  expect([refused.code, refused.stdout]).toEqual([2, ""]);
  expect(refused.stderr).toContain(message);
  const desk = await runJsonOrThrow<{ keys: unknown[] }>(["vendor", "show", ...dir]);
  expect(desk.keys).toHaveLength(1);
});
