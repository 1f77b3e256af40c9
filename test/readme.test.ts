import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { commands } from "../src/cli/command-table.ts";
import { parseTermsFile } from "../src/license/terms-file.ts";
import { startBinary } from "./support/binary.ts";
import { loadLeaseCheck, readmeText } from "./support/readme.ts";
import { tempFolder } from "./support/temp-folder.ts";

interface Bundle {
  readonly confirmation_code: string;
  readonly [field: string]: unknown;
}

const vendorKeyIn = (folder: string): object | undefined => {
  const trust = readFileSync(join(folder, "demo", "vendor", "trust.jwt"), "utf8");
  const payload = Buffer.from(trust.split(".")[1] ?? "", "base64url").toString();
  return (JSON.parse(payload) as { keys: object[] }).keys[0];
};

test("the README's lease check accepts a lease of this server and nothing else", async () => {
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
  await server.stop();

  const given = { lease, license, vendorKey: vendorKeyIn(folder), product: "DEMO", nonce };
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

test("the README's lease check for a license by code accepts its lease and nothing else", async () => {
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

  const given = { lease, bundle, vendorKey: vendorKeyIn(folder), product: "DEMO", nonce };
  expect((await check(given)).sub).toBe("ada");
  const other = bundle.confirmation_code.startsWith("A") ? "B" : "A";
  const misread = other + bundle.confirmation_code.slice(1);
  for (const wrong of [
    { nonce: "device-9876543210" },
    { product: "CAD" },
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

/** The command lines a reader would paste, without what is said about them. */
const commandLines = [...readmeText.matchAll(/```sh\n([\s\S]*?)```/g)]
  .flatMap(([, lines = ""]) => lines.replaceAll("\\\n", " ").split(/\n|&&?/))
  .map((line) => line.trim().replace(/^sudo /, ""))
  .flatMap((line) => /^(?:\S*\/)?berth (.*?)(?:\s# .*)?$/.exec(line)?.[1] ?? []);

test("every command line in the README is one that Berth has", () => {
  expect(commandLines.length).toBeGreaterThan(15);
  for (const line of commandLines) {
    const command = commands
      .filter(({ name }) => `${line} `.startsWith(`${name} `))
      .toSorted((a, b) => b.name.length - a.name.length)[0];
    expect([line, command?.name]).toEqual([line, expect.any(String)]);
    const known = command?.options.map(({ name }) => name) ?? [];
    const given = [...line.matchAll(/ --([\w-]+)/g)].map(([, flag = ""]) => flag);
    expect([line, given.filter((flag) => !known.includes(flag))]).toEqual([line, []]);
  }
});

test("the README's file of terms is one that the vendor's desk takes", () => {
  const [, text = ""] =
    /needs only what is to be set:\n\n```json\n([\s\S]*?)```/.exec(readmeText) ?? [];
  expect(parseTermsFile(JSON.parse(text))).toMatchObject({
    ok: true,
    value: { slots: 10, valid_until: "2028-01-01T00:00:00.000Z", features: [{ code: "MESH" }] },
  });
});

test("every refusal it explains is one that Berth makes", () => {
  const faults = readFileSync(
    join(import.meta.dir, "..", "src", "http", "fault-messages.ts"),
    "utf8",
  );
  const [, section = ""] = readmeText.split("## When it says no");
  const rows = section.split("\n## ")[0] ?? "";
  const codes = [...rows.matchAll(/^\| (.*?) \|/gm)]
    .flatMap(([, cell = ""]) => [...cell.matchAll(/`([a-z]+_[a-z_]+)`/g)])
    .map(([, code = ""]) => code);
  expect(codes.length).toBeGreaterThan(10);
  expect(codes.filter((code) => !new RegExp(`^  ${code}: \\{`, "m").test(faults))).toEqual([]);
});

test("the README generates clients with the versions that bun run test:clients uses", () => {
  const folder = join(import.meta.dir, "clients");
  const pinned = (file: string, version: RegExp): string =>
    version.exec(readFileSync(join(folder, file), "utf8"))?.[1] ?? `none in ${file}`;
  const python = pinned("python/requirements.txt", /^openapi-python-client==(.+)$/m);
  const types = pinned("typescript/package.json", /"openapi-typescript": "(.+)"/);
  const compiler = pinned("typescript/package.json", /"typescript": "(.+)"/);
  const go = pinned("go.ts", /"(github\.com\/oapi-codegen\/.+)"/);
  expect(readmeText).toContain(`pip install openapi-python-client==${python}\n`);
  expect(readmeText).toContain(`npx -y -p openapi-typescript@${types} -p typescript@${compiler} `);
  expect(readmeText).toContain(`go run ${go} `);
});
