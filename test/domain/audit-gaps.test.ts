import { describe, expect, test } from "bun:test";
import { addGap, findGap, skipGaps } from "../../src/domain/audit-gaps.ts";
import type { DeclareAuditGaps } from "../../src/domain/command.ts";
import { limits } from "../../src/domain/limits.ts";
import type { AuditGap } from "../../src/domain/state.ts";
import { given, MONDAY } from "../support/scenario.ts";

/** The sum of a line, for people. */
const sumOf = (line: number): string => `sum ${line}`;

const gap = (from: number, to: number, differing: Partial<AuditGap> = {}): AuditGap => ({
  reason: "damaged",
  from,
  to,
  before: sumOf(from - 1),
  after: sumOf(to),
  at: MONDAY,
  earliest: null,
  latest: null,
  files: [],
  ...differing,
});

const declare = (...gaps: readonly AuditGap[]): DeclareAuditGaps => ({
  type: "DeclareAuditGaps",
  gaps: gaps.map(({ at: _at, ...rest }) => rest),
  note: "the disk was replaced",
  peer: "ops@socket",
});

describe("declaring gaps of the audit log", () => {
  test("records one event for each gap, with the note and who declared it", () => {
    given()
      .at(MONDAY)
      .when(declare(gap(3, 5), gap(9, 9)))
      .records(
        { type: "AuditGapDeclared", gap: gap(3, 5), note: "the disk was replaced" },
        { type: "AuditGapDeclared", gap: gap(9, 9), peer: "ops@socket" },
      )
      .answers({ gaps: [gap(3, 5), gap(9, 9)] });
  });

  test("is refused when more gaps would have to be kept than there is room for", () => {
    const many = Array.from({ length: limits.auditGaps }, (_, place) =>
      gap(place * 3 + 1, place * 3 + 1),
    );
    const full = given()
      .at(MONDAY)
      .execute(declare(...many));
    full
      .at(MONDAY)
      .when(declare(gap(3, 3)))
      .refuses({
        code: "too_many_audit_gaps",
        limit: limits.auditGaps,
      });
    // One that takes the place of others needs no room.
    full
      .at(MONDAY)
      .when(declare(gap(1, 9)))
      .answers({ gaps: [gap(1, 9)] });
  });
});

describe("the list of gaps", () => {
  test("is in the order of the lines, and a gap takes the place of those within it", () => {
    const gaps = [gap(9, 12), gap(2, 2), gap(5, 6)].reduce<readonly AuditGap[]>(addGap, []);
    expect(gaps.map(({ from }) => from)).toEqual([2, 5, 9]);
    expect(addGap(gaps, gap(4, 12))).toEqual([gap(2, 2), gap(4, 12)]);
  });

  test("tells of every line whether a gap covers it, at both ends", () => {
    const gaps = [gap(3, 5)];
    const covered = [1, 2, 3, 4, 5, 6].filter((line) => findGap(gaps, line) !== null);
    expect(covered).toEqual([3, 4, 5]);
  });
});

describe("a reader of the audit log", () => {
  const gaps = [gap(3, 5), gap(6, 6), gap(8, 9)];

  test("passes over gaps that begin right behind the line it stands at", () => {
    expect(skipGaps(gaps, { seq: 2, sum: sumOf(2) })).toEqual({ seq: 6, sum: sumOf(6) });
  });

  test("stays where no gap begins", () => {
    for (const seq of [0, 1, 6, 9]) {
      expect(skipGaps(gaps, { seq, sum: sumOf(seq) })).toEqual({ seq, sum: sumOf(seq) });
    }
  });

  test("stays when the gap continues another line than the one it stands at", () => {
    expect(skipGaps(gaps, { seq: 2, sum: "another" })).toEqual({ seq: 2, sum: "another" });
    const parted = [gap(3, 5), gap(6, 6, { before: "another" })];
    expect(skipGaps(parted, { seq: 2, sum: sumOf(2) })).toEqual({ seq: 5, sum: sumOf(5) });
  });

  test("passes on from a place inside of a gap, as an anchor may be", () => {
    expect(skipGaps(gaps, { seq: 4, sum: "anything" })).toEqual({ seq: 6, sum: sumOf(6) });
  });
});
