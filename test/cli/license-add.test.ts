import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { runBerth, runOrThrow } from "../support/run-berth.ts";
import { OfflineExchange } from "../support/offline-exchange.ts";

async function trustingSite(): Promise<OfflineExchange> {
  const loop = new OfflineExchange();
  await loop.open("CAD");
  return loop;
}

test("a license that was wrapped into lines is installed, and once more is installed already", async () => {
  const loop = await trustingSite();
  const file = await loop.requestAndIssue("CAD");
  const add = loop.addLicenseCommand(file);
  const lines =
    readFileSync(file, "utf8")
      .trim()
      .match(/.{1,64}/g) ?? [];
  expect(lines.length).toBeGreaterThan(5);
  writeFileSync(file, `${lines.join("\r\n")}\r\n`);
  expect(await runOrThrow(add)).toMatch(/^license \d+ for CAD is installed\n$/);
  expect(await runOrThrow(add)).toMatch(/^license \d+ for CAD is already installed\n$/);
});

test("a private key in the place of a license is refused and named as one", async () => {
  const loop = await trustingSite();
  const key = loop.path("desk", "vendor.jwk");
  const { code, stdout, stderr } = await runBerth(loop.addLicenseCommand(key));
  expect([code, stdout, stderr]).toEqual([
    1,
    "",
    `berth: error: ${key} is not a license: it is a private key\nberth: hint: a private key must not leave the vendor's desk; ask the vendor for a license\n`,
  ]);
});

test("berth admin token list leads to the command that lists tokens", async () => {
  const { code, stderr } = await runBerth(["admin", "token", "list"]);
  expect([code, stderr]).toEqual([
    2,
    "berth: error: unexpected argument: list\nberth: hint: berth admin user list shows tokens and users\n",
  ]);
});
