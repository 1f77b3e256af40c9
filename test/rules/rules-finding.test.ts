import { expect, test } from "bun:test";
import { FindingList } from "../../src/rules/rules-finding.ts";

test("finds hints only for the findings that are listed", () => {
  const findings = new FindingList();
  let hints = 0;
  for (let line = 1; line <= 1_000; line += 1) {
    findings.error(line, "wrong", () => {
      hints += 1;
      return `hint ${line}`;
    });
  }
  const listed = findings.list();
  expect(listed).toHaveLength(201);
  expect(listed[199]).toEqual({ line: 200, severity: "error", message: "wrong", hint: "hint 200" });
  expect(hints).toBe(200);
});
