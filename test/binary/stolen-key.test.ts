// A vendor retires a stolen key, and a running site receives the new trust document.
import { expect, test } from "bun:test";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runBerth, runOrThrow, runJsonOrThrow, startServer } from "../support/run-berth.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { bothFolders, initDesk, withEnd } from "../support/vendor-commands.ts";

interface KeyReply {
  readonly key: string;
}

test("a site with the newer trust document refuses the stolen key and accepts the next one", async () => {
  const root = tempFolder();
  const path = (name: string): string => join(root, name);
  const [dir, data, both] = [
    ["--dir", path("desk")],
    ["--data", path("site")],
    bothFolders(path("desk")),
  ];
  await initDesk(path("desk"), "CAD");
  const { keys } = await runJsonOrThrow<{ keys: KeyReply[] }>(["vendor", "show", ...dir]);
  const [stolen] = keys;
  const site = await startServer(["serve", ...data]);
  const trust = (): Promise<Response> =>
    fetch(`${site.url}/api/admin/v1/trust/add`, {
      method: "POST",
      body: JSON.stringify({ license: readFileSync(path("desk/trust.jwt"), "utf8") }),
      headers: { "content-type": "application/json" },
    });
  const add = (file: string) => runBerth(["license", "add", path(file), ...data]);
  const request = async (file: string): Promise<string[]> => {
    await runOrThrow(["license", "request", ...data, "--product", "CAD", "--out", path(file)]);
    return ["--request", path(file), "--allow-weak-binding"];
  };

  expect((await trust()).status).toBe(200);
  const requestFlags = await request("request.jwt");
  const issue = ["vendor", "issue", ...dir, ...withEnd([...requestFlags, "--slots", "3"])];
  await runOrThrow([...issue, "--out", path("license.jwt")]);
  expect((await add("license.jwt")).code).toBe(0);

  // The thief has a copy of the desk.
  cpSync(path("desk"), path("thief"), { recursive: true });
  const retire = ["vendor", "key", "retire", stolen?.key ?? "", ...both, "--yes", "--json"];
  const retired = await runBerth(retire);
  expect(JSON.parse(retired.stdout)).toMatchObject({ version: 2, retired: [stolen?.key] });
  expect(retired.stderr).toContain("1 license to be issued again");
  const [license] = await runJsonOrThrow<{ license_id: number }[]>([
    "vendor",
    "list",
    ...dir,
    "--to-reissue",
  ]);
  const id = String(license?.license_id);
  await runOrThrow(["vendor", "key", "new", ...both, "--no-passphrase"]);
  expect((await trust()).status).toBe(200);

  const thief = ["vendor", "issue", "--dir", path("thief")];
  const forged = ["--renew", id, "--slots", "999", "--out", path("forged.jwt")];
  await runOrThrow([...thief, ...forged]);
  const refused = await add("forged.jwt");
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("(retired_key)")]);
  expect(refused.stderr).toContain(`Acme has retired the key ${stolen?.key}`);

  const renewed = ["--renew", id, "--out", path("renewed.jwt")];
  await runOrThrow(["vendor", "issue", ...dir, ...renewed]);
  expect((await add("renewed.jwt")).code).toBe(0);
  const toReissue = await runJsonOrThrow<unknown[]>(["vendor", "list", ...dir, "--to-reissue"]);
  expect(toReissue).toEqual([]);
  await site.stop();
  const licenses = await runJsonOrThrow<object[]>(["license", "list", ...data]);
  expect(licenses).toHaveLength(1);
  expect((await runBerth(["verify", ...data])).code).toBe(0);
});
