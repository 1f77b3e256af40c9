import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { commands } from "../../src/cli/command-table.ts";
import { describeForCommandLine, FAULTS } from "../../src/faults/catalog.ts";
import type { AnyFault } from "../../src/faults/fault-types.ts";
import { UNSUPPORTED_KEYWORDS } from "../../src/rules/flexnet/unsupported-keywords.ts";
import { repositoryRoot } from "../support/sources.ts";

const sampleFaults = Object.entries(FAULTS).map(
  ([code, { sample }]) => ({ ...sample, code }) as AnyFault,
);

function expectRealCommands(text: string): void {
  for (const [, words = ""] of text.matchAll(/\bberth ([a-z -]+)/g)) {
    const isCommand =
      words.startsWith("help guide ") ||
      commands.some(({ name }) => `${words} `.startsWith(`${name} `));
    expect([words, isCommand]).toEqual([words, true]);
  }
}

test("what berth has instead of an option of FlexNet names only commands that exist", () => {
  for (const reason of UNSUPPORTED_KEYWORDS.values()) expectRealCommands(reason);
});

test("the refusals and findings of a vendor's desk name only commands that exist", () => {
  const texts = new Bun.Glob("src/desk/**/*.ts").scanSync(repositoryRoot);
  const named = [...texts].flatMap((path) =>
    readFileSync(join(repositoryRoot, path), "utf8").match(/\bberth (?:vendor|license) [a-z -]+/g),
  );
  expect(named.length).toBeGreaterThan(50);
  for (const text of named) expectRealCommands(text ?? "");
});

describe("describeForCommandLine", () => {
  test("has a hint for more than twenty faults", () => {
    const hints = sampleFaults.map((fault) => describeForCommandLine(fault).hint);
    expect(hints.filter((hint) => hint !== "").length).toBeGreaterThan(20);
  });

  test.each(sampleFaults)("names only commands that exist in the hint for $code", (fault) => {
    expectRealCommands(describeForCommandLine(fault).hint);
  });

  test("has no hint for a fault that no command helps with", () => {
    const fault = { code: "license_borrow_not_allowed" } as const;
    expect(describeForCommandLine(fault)).toEqual({
      message: "the license does not allow borrowing",
      hint: "",
    });
  });

  test("does not ask for another copy of a file that a retired key signed", () => {
    const retired = { code: "retired_key", vendor: "V", key: "0123456789ABCDEF" } as const;
    expect(describeForCommandLine(retired).hint).toContain("tell the vendor");
    const damaged = { code: "invalid_license_file", problem: { wrong: "form" } } as const;
    expect(describeForCommandLine(damaged).hint).toBe(
      "berth vendor inspect FILE shows the kind of a file",
    );
  });

  test.each([
    [undefined, "berth trust add FILE"],
    [{ over: "product", vendor: "V" }, "berth trust list shows the products of each vendor"],
    [{ over: "license", license: 1 }, "ask the vendor for a new license"],
    [{ over: "key", license: 1 }, "do not trust this vendor"],
  ] as const)("names what helps with the conflict %p of a vendor", (conflict, remedy) => {
    const fault = { code: "untrusted_vendor", ...(conflict && { conflict }) } as const;
    expect(describeForCommandLine(fault).hint).toContain(remedy);
  });

  test.each<[AnyFault, string]>([
    [{ code: "slots_borrowed", slots: 2 }, "slots are borrowed (2)"],
    [{ code: "audit_log_damaged", line: 30 }, "line 30 of the audit log is damaged or missing"],
    [{ code: "policy_mismatch" }, "the policy has another id"],
    [
      { code: "invalid_number", field: "license_id", limit: 9 },
      "license id must be a whole number in plain digits, up to 9",
    ],
    [
      { code: "missing_parameters", fields: ["license_key", "product"] },
      "license key and product must be given",
    ],
  ])("uses no words of the API for %p", (fault, message) => {
    expect(describeForCommandLine(fault).message).toBe(message);
  });
});
