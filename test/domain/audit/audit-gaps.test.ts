import { describe, expect, test } from "bun:test";
import {
  addGap,
  findGap,
  skipGaps,
  type DeclareAuditGaps,
} from "../../../src/domain/audit/audit-gaps.ts";
import { limits } from "../../../src/domain/model/limits.ts";
import type { AuditGap } from "../../../src/domain/model/state.ts";
import { given, MONDAY } from "../../support/scenario.ts";

/** A readable sum for a line. */
const makeSum = (line: number): string => `sum ${line}`;

const gap = (from: number, to: number, overrides: Partial<AuditGap> = {}): AuditGap => ({
  reason: "damaged",
  from,
  to,
  before: makeSum(from - 1),
  after: makeSum(to),
  at: MONDAY,
  earliest: null,
  latest: null,
  files: [],
  ...overrides,
});

const declare = (...gaps: readonly AuditGap[]): DeclareAuditGaps => ({
  type: "DeclareAuditGaps",
  gaps: gaps.map(({ at: _at, ...rest }) => rest),
  note: "the disk was replaced",
  peer: "ops@socket",
});

describe("declaring audit log gaps", () => {
  test("records one event for each gap, with the note and the operator", () => {
    given()
      .at(MONDAY)
      .when(declare(gap(3, 5), gap(9, 9)))
      .records(
        { type: "AuditGapDeclared", gap: gap(3, 5), note: "the disk was replaced" },
        { type: "AuditGapDeclared", gap: gap(9, 9), peer: "ops@socket" },
      )
      .answers({ gaps: [gap(3, 5), gap(9, 9)] });
  });

  test("is refused when there would be more gaps than the limit", () => {
    const maximumGaps = Array.from({ length: limits.auditGaps }, (_, index) =>
      gap(index * 3 + 1, index * 3 + 1),
    );
    const full = given()
      .at(MONDAY)
      .execute(declare(...maximumGaps));
    full
      .at(MONDAY)
      .when(declare(gap(3, 3)))
      .refuses({
        code: "too_many_audit_gaps",
        limit: limits.auditGaps,
      });
    // A gap that replaces others does not add to the count.
    full
      .at(MONDAY)
      .when(declare(gap(1, 9)))
      .answers({ gaps: [gap(1, 9)] });
  });
});

describe("the list of audit log gaps", () => {
  test("is ordered by line, and a gap replaces the gaps inside it", () => {
    const gaps = [gap(9, 12), gap(2, 2), gap(5, 6)].reduce<readonly AuditGap[]>(addGap, []);
    expect(gaps.map(({ from }) => from)).toEqual([2, 5, 9]);
    expect(addGap(gaps, gap(4, 12))).toEqual([gap(2, 2), gap(4, 12)]);
  });

  test("finds the gap of every line from its first to its last line", () => {
    const gaps = [gap(3, 5)];
    const covered = [1, 2, 3, 4, 5, 6].filter((line) => findGap(gaps, line) !== null);
    expect(covered).toEqual([3, 4, 5]);
  });
});

describe("skipGaps", () => {
  const gaps = [gap(3, 5), gap(6, 6), gap(8, 9)];

  test("skips adjacent gaps that begin right after the current line", () => {
    expect(skipGaps(gaps, { seq: 2, sum: makeSum(2) })).toEqual({ seq: 6, sum: makeSum(6) });
  });

  test("keeps the position where no gap begins", () => {
    for (const seq of [0, 1, 6, 9]) {
      expect(skipGaps(gaps, { seq, sum: makeSum(seq) })).toEqual({ seq, sum: makeSum(seq) });
    }
  });

  test("keeps the position when the gap continues another line than the current one", () => {
    expect(skipGaps(gaps, { seq: 2, sum: "another" })).toEqual({ seq: 2, sum: "another" });
    const disconnected = [gap(3, 5), gap(6, 6, { before: "another" })];
    expect(skipGaps(disconnected, { seq: 2, sum: makeSum(2) })).toEqual({
      seq: 5,
      sum: makeSum(5),
    });
  });

  test("skips to the end of the gap from a line inside it, as an anchor can be", () => {
    expect(skipGaps(gaps, { seq: 4, sum: "anything" })).toEqual({ seq: 6, sum: makeSum(6) });
  });
});
