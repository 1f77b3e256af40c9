import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runBerth } from "../support/run-berth.ts";
import { tempFolder } from "../support/temp-folder.ts";

async function newDesk(): Promise<string> {
  const desk = join(tempFolder(), "desk");
  const made = await runBerth([
    "vendor",
    "init",
    "--no-passphrase",
    "--name",
    "Acme",
    "--dir",
    desk,
    "--product",
    "CAD",
  ]);
  expect(made.code).toBe(0);
  return desk;
}

const policy = (desk: string, ...flags: string[]) =>
  runBerth(["vendor", "policy", "--dir", desk, "--policy-id", "p", "--product", "CAD", ...flags]);

describe("terms that are not understood are never taken for no limit", () => {
  test.each([
    ["a feature's setting misspelt", ["--feature", "EXPORT:slot=5"], 2],
    ["a feature's setting without a value", ["--feature", "EXPORT:slots"], 2],
    ["a feature without a name", ["--feature", ":slots=5"], 2],
    ["a period of nothing", ["--period", "monthly"], 1],
    ["overages of nothing", ["--overages", "5"], 1],
    ["a day that does not exist", ["--valid-until", "2027-02-30"], 2],
    ["a year alone", ["--valid-until", "1"], 2],
    ["half a number", ["--slots", "1.5"], 2],
    ["a subscription without an end", ["--license-type", "subscription"], 1],
    ["a type nobody knows", ["--license-type", "forever"], 2],
  ])("%s", async (_what, flags, code) => {
    const said = await policy(await newDesk(), ...flags);
    expect([said.code, said.stdout]).toEqual([code, ""]);
    expect(said.stderr).toStartWith("berth: error: ");
  });

  test("and what is understood is signed", async () => {
    const flags = ["--feature", "EXPORT:slots=5", "--valid-until", "2027-12-31", "--json"];
    const said = await policy(await newDesk(), ...flags);
    const document = (JSON.parse(said.stdout) as { policy: string }).policy;
    const terms = Buffer.from(document.split(".")[1] ?? "", "base64url").toString();
    expect(JSON.parse(terms)).toMatchObject({
      terms: { valid_until: "2028-01-01T00:00:00.000Z", features: [{ floating: { slots: 5 } }] },
    });
  });
});

describe("--out", () => {
  test.each(["vendor.jwk", "ledger.jsonl"])("does not write over the desk's %s", async (file) => {
    const desk = await newDesk();
    const path = join(desk, file);
    if (file === "ledger.jsonl") writeFileSync(path, '{"type":"seen"}\n');
    const before = readFileSync(path, "utf8");
    const said = await policy(desk, "--out", path);
    expect([said.code, readFileSync(path, "utf8")]).toEqual([2, before]);
  });

  test("replaces an earlier document", async () => {
    const desk = await newDesk();
    const path = join(desk, "policy.jwt");
    expect((await policy(desk, "--out", path)).code).toBe(0);
    const before = readFileSync(path, "utf8");
    expect((await policy(desk, "--slots", "9", "--replace", "--out", path)).code).toBe(0);
    expect(readFileSync(path, "utf8")).not.toBe(before);
  });
});

test.each([
  ["no name", ["--name", "", "--product", "CAD"]],
  ["no product's name", ["--name", "Acme", "--product", ""]],
])("a desk is not made with %s", async (_what, flags) => {
  const desk = join(tempFolder(), "desk");
  const said = await runBerth(["vendor", "init", "--no-passphrase", "--dir", desk, ...flags]);
  expect(said.code).toBe(2);
  expect((await runBerth(["vendor", "list", "--dir", desk])).stderr).toContain("is not a desk");
});
