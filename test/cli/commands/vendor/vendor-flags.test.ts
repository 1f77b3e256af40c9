import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { keyFileIn } from "../../../support/desk-keys.ts";
import { runBerth } from "../../../support/run-berth.ts";
import { tempFolder } from "../../../support/temp-folder.ts";
import { INIT_DESK, withEnd } from "../../../support/vendor-commands.ts";

async function newDesk(): Promise<string> {
  const desk = join(tempFolder(), "desk");
  const result = await runBerth([...INIT_DESK, "--dir", desk, "--product", "CAD"]);
  expect(result.code).toBe(0);
  return desk;
}

const policy = (desk: string, ...flags: string[]) => {
  const named = ["--policy-id", "p", "--product", "CAD", ...withEnd(flags)];
  return runBerth(["vendor", "policy", "--dir", desk, ...named]);
};

describe("berth vendor policy", () => {
  test.each([
    ["a misspelt setting of a feature", ["--feature", "EXPORT:slot=5"], 2],
    ["a setting of a feature without a value", ["--feature", "EXPORT:slots"], 2],
    ["a feature without a name", ["--feature", ":slots=5"], 2],
    ["a period without consumptions", ["--period", "monthly"], 1],
    ["overages without consumptions", ["--overages", "5"], 1],
    ["a day that does not exist", ["--valid-until", "2027-02-30"], 2],
    ["a year alone", ["--valid-until", "1"], 2],
    ["a fraction", ["--slots", "1.5"], 2],
    ["a subscription without an end", ["--license-type", "subscription"], 1],
    ["an unknown license type", ["--license-type", "forever"], 2],
  ])("refuses %s, instead of signing terms without a limit", async (_what, flags, code) => {
    const result = await policy(await newDesk(), ...flags);
    expect([result.code, result.stdout]).toEqual([code, ""]);
    expect(result.stderr).toStartWith("berth: error: ");
  });

  test("signs valid terms", async () => {
    const flags = ["--feature", "EXPORT:slots=5", "--valid-until", "2027-12-31", "--json"];
    const result = await policy(await newDesk(), ...flags);
    const document = (JSON.parse(result.stdout) as { policy: string }).policy;
    const terms = Buffer.from(document.split(".")[1] ?? "", "base64url").toString();
    expect(JSON.parse(terms)).toMatchObject({
      terms: { valid_until: "2028-01-01T00:00:00.000Z", features: [{ floating: { slots: 5 } }] },
    });
  });
});

describe("berth vendor policy --out", () => {
  test.each([
    ["key", keyFileIn],
    ["ledger", (desk: string) => join(desk, "ledger.jsonl")],
  ])("does not overwrite the desk's %s", async (_name, pathOf) => {
    const desk = await newDesk();
    const path = pathOf(desk);
    await policy(desk);
    const before = readFileSync(path, "utf8");
    const result = await policy(desk, "--out", path);
    expect([result.code, readFileSync(path, "utf8")]).toEqual([2, before]);
  });

  test("replaces an earlier policy", async () => {
    const desk = await newDesk();
    const path = join(desk, "policy.jwt");
    expect((await policy(desk, "--out", path)).code).toBe(0);
    const before = readFileSync(path, "utf8");
    expect((await policy(desk, "--slots", "9", "--replace", "--out", path)).code).toBe(0);
    expect(readFileSync(path, "utf8")).not.toBe(before);
  });
});

test.each([
  ["an empty name", ["--name", "", "--product", "CAD"]],
  ["an empty product", ["--name", "Acme", "--product", ""]],
])("berth vendor init refuses %s and creates no desk", async (_what, flags) => {
  const desk = join(tempFolder(), "desk");
  const result = await runBerth(["vendor", "init", "--no-passphrase", "--dir", desk, ...flags]);
  expect(result.code).toBe(2);
  expect((await runBerth(["vendor", "list", "--dir", desk])).stderr).toContain("is not a desk");
});
