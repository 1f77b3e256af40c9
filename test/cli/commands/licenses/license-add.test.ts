import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { runBerth, runOrThrow } from "../../../support/run-berth.ts";
import { keyFileIn } from "../../../support/desk-keys.ts";
import { OfflineExchange } from "../../../support/offline-exchange.ts";

async function makeTrustingSite(): Promise<OfflineExchange> {
  const exchange = new OfflineExchange();
  await exchange.open("CAD");
  return exchange;
}

test("berth license add installs a license wrapped into lines, and reports it the second time", async () => {
  const exchange = await makeTrustingSite();
  const file = await exchange.requestAndIssue("CAD");
  const add = exchange.addLicenseCommand(file);
  const lines =
    readFileSync(file, "utf8")
      .trim()
      .match(/.{1,64}/g) ?? [];
  expect(lines.length).toBeGreaterThan(5);
  writeFileSync(file, `${lines.join("\r\n")}\r\n`);
  expect(await runOrThrow(add)).toMatch(/^license \d+ for CAD is installed\n$/);
  expect(await runOrThrow(add)).toMatch(/^license \d+ for CAD is already installed\n$/);
});

test("berth license add refuses a private key and says what it is", async () => {
  const exchange = await makeTrustingSite();
  const key = keyFileIn(exchange.path("desk"));
  const { code, stdout, stderr } = await runBerth(exchange.addLicenseCommand(key));
  expect([code, stdout, stderr]).toEqual([
    1,
    "",
    `berth: error: ${key} is not a license: it is a private key\nberth: hint: a private key must not leave the vendor's desk; ask the vendor for a license\n`,
  ]);
});

test("berth admin token list names the command that lists tokens", async () => {
  const { code, stderr } = await runBerth(["admin", "token", "list"]);
  expect([code, stderr]).toEqual([
    2,
    "berth: error: unexpected argument: list\nberth: hint: berth admin user list shows tokens and users\n",
  ]);
});
