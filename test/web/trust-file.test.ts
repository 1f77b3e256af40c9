import { expect, test } from "bun:test";
import { fingerprintOf, idOf, makeKey } from "../../src/license/keys.ts";
import { signTrust } from "../../src/license/trust.ts";
import { readTrustFile } from "../../src/web/settings/trust-file.ts";

async function trustOf(name: string) {
  const key = await makeKey();
  const vendor = { vendor: idOf(key), name, version: 1, products: ["cad", "cam"], keys: [key] };
  return { key, text: await signTrust(vendor, key) };
}

test("the page reads out the same fingerprint as the vendor does", async () => {
  const { key, text } = await trustOf("Ümlaut & Söhne");
  expect(await readTrustFile(`${text}\n`)).toEqual({
    name: "Ümlaut & Söhne",
    products: ["cad", "cam"],
    fingerprint: fingerprintOf(key),
  });
});

test("what is no trust file is not read as one", async () => {
  const { text } = await trustOf("Acme");
  const [head = "", body = ""] = text.split(".");
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const wrong = [
    "",
    "not a file",
    "a.b.c",
    `${part({ typ: "berth-license+jwt" })}.${body}.x`,
    `${head}.${part(null)}.x`,
    `${head}.${part({ name: "Acme", keys: [] })}.x`,
    `${head}.${part({ name: 7, keys: [{ x: "A".repeat(43) }] })}.x`,
    `${head}.${part({ name: "Acme", keys: [{ x: {} }] })}.x`,
    `${head}.${part({ name: "Acme", keys: [{ x: "AAAA" }] })}.x`,
  ];
  for (const one of wrong) expect(await readTrustFile(one)).toBeNull();
});
