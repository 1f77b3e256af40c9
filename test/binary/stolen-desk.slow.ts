// A vendor with two keys and ten sites, played with the executable: a thief copies the desk, the key
// is retired with the root on another machine, every license is issued again, and the thief is
// refused wherever the newer trust document arrived. An application that was built before accepts
// the new licenses unchanged.
import { expect, test } from "bun:test";
import { cpSync, readdirSync, readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { runBinary, startBinary } from "../support/binary.ts";
import { loadLeaseCheck } from "../support/documents.ts";
import { tempFolder } from "../support/temp-folder.ts";

const SITES = 10;
const NONCE = "0123456789abcdef";

interface Shown {
  readonly vendor: string;
  readonly fingerprint: string;
  readonly public_key: string;
  readonly keys: readonly { readonly key: string; readonly state: string }[];
  readonly to_reissue: readonly number[];
}

test("a desk that was stolen is replaced, and the thief is refused at every site that heard of it", async () => {
  const folder = tempFolder();
  const path = (name: string): string => join(folder, name);
  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runBinary(args);
    if (code !== 0) throw new Error(`berth ${args.join(" ")}: ${code} ${stderr}`);
    return stdout;
  };
  const refuse = async (expected: string, ...args: string[]): Promise<void> => {
    const { code, stdout } = await runBinary([...args, "--json"]);
    expect([code, (JSON.parse(stdout) as { code: string }).code]).toEqual([1, expected]);
  };
  const show = async (dir: string): Promise<Shown> =>
    JSON.parse(await run("vendor", "show", "--dir", path(dir), "--json")) as Shown;
  const terms = ["--product", "CAD", "--slots", "3", "--valid-until", "2099-12-31"];
  const issue = (dir: string, ...args: string[]): Promise<string> =>
    run("vendor", "issue", "--dir", path(dir), "--allow-weak-binding", ...args);
  const request = (site: string, file: string): Promise<string> =>
    run("license", "request", "--data", path(site), "--product", "CAD", "--out", path(file));

  // The two keys, and ten sites that trust the root.
  const init = ["--name", "Acme", "--product", "CAD", "--no-passphrase"];
  await run("vendor", "init", "--dir", path("desk"), "--root", path("root"), ...init);
  const first = await show("desk");
  const application = await loadLeaseCheck("checkLease");
  const rootKey = { kty: "OKP", crv: "Ed25519", x: first.public_key };
  const sites = Array.from({ length: SITES }, (_, index) => `site-${index}`);
  const create = async (site: string): Promise<void> => {
    const server = await startBinary("serve", "--data", path(site), "--listen", "127.0.0.1:0");
    await server.stop();
  };
  for (const site of sites) {
    await create(site);
    await run("trust", "add", path("desk/trust.jwt"), "--data", path(site), "--yes");
    await request(site, `${site}.request`);
    await issue(
      "desk",
      "--request",
      path(`${site}.request`),
      ...terms,
      "--out",
      path(`${site}.jwt`),
    );
    await run("license", "add", path(`${site}.jwt`), "--data", path(site));
  }

  // The thief has a copy of the desk.
  cpSync(path("desk"), path("thief"), { recursive: true });

  // The root is on another machine; the desk never sees it.
  renameSync(path("root"), path("medium"));
  const [stolen] = first.keys;
  const retire = ["--root", path("medium"), "--out", path("trust.jwt"), "--yes"];
  await run("vendor", "key", "retire", stolen?.key ?? "", ...retire);
  await run("vendor", "accept", path("trust.jwt"), "--dir", path("desk"));
  expect((await runBinary(["vendor", "issue", "--dir", path("desk"), "--renew", "1"])).code).toBe(
    1,
  );
  const newKey = ["--dir", path("desk"), "--no-passphrase", "--out", path("key.request")];
  await run("vendor", "key", "new", ...newKey);
  const certify = ["--root", path("medium"), "--out", path("key.cert"), "--yes"];
  await run("vendor", "key", "certify", path("key.request"), ...certify);
  await run("vendor", "accept", path("key.cert"), path("trust.jwt"), "--dir", path("desk"));
  const second = await show("desk");
  expect(second.keys.map(({ state }) => state)).toEqual(["current", "retired"]);
  expect([second.vendor, second.fingerprint]).toEqual([first.vendor, first.fingerprint]);
  expect(second.to_reissue).toHaveLength(SITES);

  // Every license is issued again. A site that has not heard of it yet asks for trust.jwt.
  for (const [index, site] of sites.entries()) {
    const file = path(`${site}-2.jwt`);
    await request(site, `${site}-2.request`);
    await issue("desk", "--request", path(`${site}-2.request`), "--out", file);
    if (index === 0) await refuse("trust_outdated", "license", "add", file, "--data", path(site));
    await run("license", "add", file, path("trust.jwt"), "--data", path(site));
  }
  expect((await show("desk")).to_reissue).toEqual([]);

  // The thief is refused, with a renewal and with an answer.
  for (const [index, site] of sites.entries()) {
    const renewed = ["--renew", readLicenseId(path(`${site}.jwt`)), "--slots", "999"];
    await issue("thief", ...renewed, "--out", path(`${site}-forged.jwt`));
    await refuse("retired_key", "license", "add", path(`${site}-forged.jwt`), "--data", path(site));
    if (index > 0) continue;
    await request(site, "thief.request");
    await issue("thief", "--request", path("thief.request"), "--out", path("answer.jwt"));
    await refuse("retired_key", "license", "add", path("answer.jwt"), "--data", path(site));
    await refuse("retired_key", "license", "add", path(`${site}.jwt`), "--data", path(site));
  }

  // A new customer: one trust document, and the fingerprint that was printed years ago.
  await create("new");
  await run("trust", "add", path("desk/trust.jwt"), "--data", path("new"), "--yes");
  const trusted = JSON.parse(await run("trust", "list", "--data", path("new"), "--json")) as [
    { readonly fingerprint: string },
  ];
  expect(trusted[0].fingerprint).toBe(first.fingerprint);
  await request("new", "new.request");
  await issue("desk", "--request", path("new.request"), ...terms, "--out", path("new.jwt"));
  await run("license", "add", path("new.jwt"), "--data", path("new"));

  // An application that knows the root alone.
  const server = await startBinary("serve", "--data", path("site-3"), "--listen", "127.0.0.1:0");
  try {
    const reply = await fetch(`${server.url}/api/v4/register`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-nonce": NONCE },
      body: JSON.stringify({ product: "CAD", user: "ada" }),
    });
    expect(reply.status).toBe(200);
    const { lease } = (await reply.json()) as { readonly lease: string };
    const license = await (
      await fetch(`${server.url}/api/v4/license`, { headers: { accept: "application/jwt" } })
    ).text();
    const input = { lease, license, rootKey, product: "CAD", nonce: NONCE };
    expect(await application(input)).toMatchObject({ sub: "ada", aud: "CAD" });
  } finally {
    await server.stop();
  }

  // The root never left its folder.
  const secret = (JSON.parse(readFileSync(path("medium/root.jwk"), "utf8")) as { d: string }).d;
  for (const file of listFiles(folder)) {
    if (file.startsWith(path("medium"))) continue;
    expect([file, readFileSync(file).includes(secret)]).toEqual([file, false]);
  }
}, 600_000);

function readLicenseId(file: string): string {
  const [, payload = ""] = readFileSync(file, "utf8").split(".");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as {
    readonly license_id: number;
  };
  return String(claims.license_id);
}

const listFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile());
