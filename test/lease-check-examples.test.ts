import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startBinary } from "./support/binary.ts";
import { loadLeaseCheck } from "./support/documents.ts";
import { tempFolder } from "./support/temp-folder.ts";

interface Bundle {
  readonly confirmation_code: string;
  readonly [field: string]: unknown;
}

const rootKeyIn = (folder: string): { readonly x: string } => {
  const trust = readFileSync(join(folder, "demo", "vendor", "trust.jwt"), "utf8");
  const payload = Buffer.from(trust.split(".")[1] ?? "", "base64url").toString();
  return (JSON.parse(payload) as { jwk: { x: string } }).jwk;
};

/** The issuing key of a license or a policy: it is in the certificate in the header. */
function issuingKeyOf(document: string): string {
  const partOf = (text: string, index: number): string =>
    Buffer.from(text.split(".")[index] ?? "", "base64url").toString();
  const { cert } = JSON.parse(partOf(document, 0)) as { cert: string };
  return (JSON.parse(partOf(cert, 1)) as { cnf: { jwk: { x: string } } }).cnf.jwk.x;
}

test("the documented lease check accepts a lease of this server and nothing else", async () => {
  const checkLease = await loadLeaseCheck("checkLease");
  const folder = tempFolder();
  const server = await startBinary("demo", "--data", folder, "--listen", "127.0.0.1:0");
  const nonce = "device-0123456789";
  const reply = await fetch(`${server.url}/api/v4/borrow`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-nonce": nonce },
    body: JSON.stringify({ product: "DEMO", user: "ada" }),
  });
  const { lease, license_id } = (await reply.json()) as { lease: string; license_id: number };
  const shown = await fetch(`${server.url}/api/v4/license?license_id=${license_id}`, {
    headers: { accept: "application/jwt" },
  });
  const license = await shown.text();
  const unbound = await fetch(`${server.url}/api/v4/borrow`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ product: "DEMO", user: "bob" }),
  });
  const { lease: unboundLease } = (await unbound.json()) as { lease: string };
  await server.stop();

  const given = { lease, license, rootKey: rootKeyIn(folder), product: "DEMO", nonce };
  expect((await checkLease(given)).sub).toBe("ada");
  const edited = `${license.slice(0, -4)}AAAA`;
  for (const wrong of [
    { nonce: "device-9876543210" },
    { lease: unboundLease },
    { lease: unboundLease, nonce: undefined },
    { lease: unboundLease, nonce: null },
    { product: "CAD" },
    { lease: license },
    { license: edited },
    { retired: [issuingKeyOf(license)] },
    { rootKey: { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" } },
  ]) {
    expect(checkLease({ ...given, ...wrong })).rejects.toThrow();
  }
});

test("the documented lease check of a license by code accepts its lease and nothing else", async () => {
  const check = await loadLeaseCheck("checkLeaseByCode");
  const folder = tempFolder();
  const server = await startBinary("demo", "--data", folder, "--listen", "127.0.0.1:0");
  const json = { "content-type": "application/json" };
  const added = await fetch(`${server.url}/api/v4/airgap/license`, {
    method: "POST",
    headers: json,
    body: readFileSync(join(folder, "demo", "airgap-license.json"), "utf8"),
  });
  const { id } = (await added.json()) as { id: number };
  const nonce = "device-0123456789";
  const reply = await fetch(`${server.url}/api/v4/register`, {
    method: "POST",
    headers: { ...json, "x-nonce": nonce },
    body: JSON.stringify({ product: "DEMO", user: "ada", license_id: id }),
  });
  const { lease } = (await reply.json()) as { lease: string };
  const shown = await fetch(`${server.url}/api/v4/license?license_id=${id}`, {
    headers: { accept: "application/jwt" },
  });
  const bundle = (await shown.json()) as Bundle;
  await server.stop();

  const given = { lease, bundle, rootKey: rootKeyIn(folder), product: "DEMO", nonce };
  expect((await check(given)).sub).toBe("ada");
  const mistyped = bundle.confirmation_code.replaceAll("0", "o").replaceAll("1", "L");
  expect((await check({ ...given, bundle: { ...bundle, confirmation_code: mistyped } })).sub).toBe(
    "ada",
  );
  const other = bundle.confirmation_code.startsWith("A") ? "B" : "A";
  const misread = other + bundle.confirmation_code.slice(1);
  for (const wrong of [
    { nonce: "device-9876543210" },
    { product: "CAD" },
    { retired: [issuingKeyOf(String(bundle["policy"]))] },
    { bundle: { ...bundle, confirmation_code: misread } },
    { bundle: { ...bundle, license_key: "OTHER" } },
    { bundle: { ...bundle, policy: `${String(bundle["policy"])}A` } },
    { bundle: { ...bundle, nonce: "0000000000" } },
    { bundle: { ...bundle, kind: bundle["kind"] === 1 ? 2 : 1 } },
    { bundle: { ...bundle, kind: undefined, version: undefined } },
  ]) {
    expect(check({ ...given, ...wrong })).rejects.toThrow();
  }
});
