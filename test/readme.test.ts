import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startBinary } from "./support/binary.ts";
import { tempFolder } from "./support/temp-folder.ts";

type Check = (given: Record<string, unknown>) => Promise<{ sub: string; exp: number }>;

const readme = readFileSync(join(import.meta.dir, "..", "README.md"), "utf8");

/** The very lines an application developer would paste. */
async function checkFromReadme(): Promise<Check> {
  const lines = /```js\n([\s\S]*?checkLease[\s\S]*?)```/.exec(readme)?.[1] ?? "";
  const path = join(import.meta.dir, "..", "node_modules", `.check-lease-${process.pid}.mjs`);
  writeFileSync(path, lines);
  return ((await import(path)) as { checkLease: Check }).checkLease;
}

test("the README's dozen lines accept a lease of this server and nothing else", async () => {
  const checkLease = await checkFromReadme();
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
  const [, payload = ""] = readFileSync(join(folder, "demo", "vendor", "trust.jwt"), "utf8").split(
    ".",
  );
  const { keys } = JSON.parse(Buffer.from(payload, "base64url").toString()) as { keys: object[] };
  await server.stop();

  const given = { lease, license, vendorKey: keys[0], product: "DEMO", nonce };
  expect((await checkLease(given)).sub).toBe("ada");
  const edited = `${license.slice(0, -4)}AAAA`;
  for (const wrong of [
    { nonce: "device-9876543210" },
    { product: "CAD" },
    { lease: license },
    { license: edited },
    { vendorKey: { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" } },
  ]) {
    expect(checkLease({ ...given, ...wrong })).rejects.toThrow();
  }
});
