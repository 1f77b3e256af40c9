import { describe, expect, test } from "bun:test";
import { explainParams, readCaller } from "../../../src/web/rules/explain-address.ts";
import { countFindings, markLines } from "../../../src/web/rules/finding-marks.ts";
import {
  isWrongTarget,
  parseTarget,
  readTargets,
  suggestTarget,
} from "../../../src/web/rules/flexnet-targets.ts";
import { isAffected, type PoolPreview } from "../../../src/web/rules/preview-pools.ts";

describe("marks of findings", () => {
  const finding = (line: number, severity: "error" | "warning") => ({
    line,
    severity,
    message: "",
    hint: null,
  });

  test("show the most severe finding of a line, in any order", () => {
    const findings = [finding(2, "warning"), finding(2, "error"), finding(3, "error")];
    const reversed = findings.toReversed();
    for (const list of [findings, reversed, [...findings, finding(2, "warning")]]) {
      expect(markLines(list).get(2)).toBe("error");
    }
    expect(countFindings(findings, "error")).toBe(2);
  });

  test("mark no line for a finding of the whole text", () => {
    expect(markLines([finding(0, "error")]).size).toBe(0);
  });
});

describe("the preview of a pool", () => {
  const unreserved = { reserved: 0, idle: 0, available: 2 };
  const unaffected: PoolPreview = {
    product: "CAD",
    feature: null,
    slots: 2,
    slots_in_use: 0,
    holds: 0,
    before: unreserved,
    after: unreserved,
    denied_total: 0,
    denied: [],
    over_limit_total: 0,
    over_limit: [],
    denied_waiting_total: 0,
    denied_waiting: [],
  };

  test("affects no user if none is denied or above a limit", () => {
    expect(isAffected(unaffected)).toBe(false);
  });

  const totals = ["denied_total", "over_limit_total", "denied_waiting_total"];
  test.each(totals)("affects users by its %s alone", (name) => {
    expect(isAffected({ ...unaffected, [name]: 1 })).toBe(true);
  });
});

describe("the address of an explanation", () => {
  test("has what is known of a caller, and is read again", () => {
    const caller = { user: "a=b/c", host: "", from: "10.0.0.1", login: "", product: "CAD" };
    const params = explainParams(caller);
    expect(params).toEqual(["user=a=b/c", "from=10.0.0.1", "product=CAD"]);
    expect(readCaller(params)).toEqual({ ...caller, feature: "" });
  });

  test("without a user names none", () => {
    expect(readCaller([]).user).toBe("");
    expect(readCaller(["other=x"]).user).toBe("");
  });
});

describe("the product that a FlexNet feature becomes", () => {
  test.each([
    ["CAD", { product: "CAD", feature: null }],
    [" CAD:RENDER ", { product: "CAD", feature: "RENDER" }],
    ["", null],
    [":RENDER", null],
    ["CAD:", null],
    ["A:B:C", null],
  ])("is read from %p", (text, expected) => {
    expect(parseTarget(text)).toEqual(expected);
  });

  test("is suggested by the name of an installed product, in any case", () => {
    expect(suggestTarget("cad", ["CAE", "CAD"])).toBe("CAD");
    expect(suggestTarget("mesh", ["CAD"])).toBe("mesh");
  });

  test("is not suggested for a part of its licenses: rules are for the whole product", () => {
    expect(suggestTarget("cad:VERSION=1.0", ["CAD", "cad:VERSION=1.0"])).toBe("");
    expect(readTargets(new Map([["cad:VERSION=1.0", ""]])).size).toBe(0);
  });

  test("may be left out for a part of its licenses only", () => {
    expect(isWrongTarget("cad:VERSION=1.0", " ")).toBe(false);
    expect(isWrongTarget("cad:VERSION=1.0", "CAD:")).toBe(true);
    expect(isWrongTarget("cad", "")).toBe(true);
    expect(isWrongTarget("cad", "CAD:RENDER")).toBe(false);
  });

  test("is left out while its text is wrong", () => {
    const typed = new Map([
      ["f1", "CAD"],
      ["f2", ""],
    ]);
    expect([...readTargets(typed).keys()]).toEqual(["f1"]);
  });
});
