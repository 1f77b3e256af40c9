// What a report, which goes on, and a statement, which does not, make of a damaged audit log.
import { describe, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readSiteRecord } from "../../../src/operations/usage/read-site-record.ts";
import { openHistory } from "../../../src/operations/usage/site-history.ts";
import { writeMonths } from "../../support/audit-months.ts";
import {
  openLicensedSite,
  readLines,
  unwrap,
  type OpenSite,
} from "../../support/licensed-store.ts";
import { utc } from "../../support/scenario.ts";

interface Month {
  readonly path: string;
  /** The numbers of its lines. */
  readonly lines: readonly number[];
}

interface LongSite extends OpenSite {
  readonly months: Readonly<Record<string, Month>>;
}

/** Counts 1 and 2 in each month; only the last two months are still in the journal. */
async function openLongSite(): Promise<LongSite> {
  const site = await openLicensedSite();
  await writeMonths(site, "03", "04", "05", "06", "07", "08");
  const months = Object.fromEntries(
    ["03", "04", "05"].map((month) => {
      const path = join(site.folder, "history", `2026-${month}.jsonl`);
      return [month, { path, lines: readLines(path).map(({ line }) => line.audit_seq ?? 0) }];
    }),
  );
  return { ...site, months };
}

/** Damages some lines of a file, at a byte of each line. */
function damageLines(path: string, indexes: readonly number[], at: number): void {
  const lines = readLines(path);
  const bytes = readFileSync(path);
  for (const index of indexes) {
    const position = (lines[index]?.offset ?? 0) + at;
    bytes[position] = (bytes[position] ?? 0) ^ 1;
  }
  writeFileSync(path, bytes);
}

/** The last bytes of a line are its checksum, the first ones its numbers. */
const IN_CHECKSUM = 200;
const IN_NUMBER = 1;

type Damage = (months: LongSite["months"]) => readonly number[];

const linesOf = (months: LongSite["months"], month: string): readonly number[] =>
  months[month]?.lines ?? [];

/** Each returns the numbers of the lines that cannot be read any more. */
const DAMAGES: Readonly<Record<string, Damage>> = {
  "a changed byte in the middle of a month": (months) => {
    damageLines(months["04"]?.path ?? "", [0], IN_CHECKSUM);
    return linesOf(months, "04").slice(0, 1);
  },
  "a line without a number": (months) => {
    damageLines(months["04"]?.path ?? "", [1], IN_NUMBER);
    return linesOf(months, "04").slice(1, 2);
  },
  "a first line of a month without a number": (months) => {
    damageLines(months["04"]?.path ?? "", [0], IN_NUMBER);
    return linesOf(months, "04").slice(0, 1);
  },
  "all lines of a month": (months) => {
    damageLines(months["04"]?.path ?? "", [0, 1], IN_NUMBER);
    return linesOf(months, "04");
  },
  "a month that was removed": (months) => {
    rmSync(months["04"]?.path ?? "");
    return linesOf(months, "04");
  },
  "two months, the second of which is empty": (months) => {
    damageLines(months["04"]?.path ?? "", [1], IN_NUMBER);
    writeFileSync(months["05"]?.path ?? "", "");
    return [...linesOf(months, "04").slice(1), ...linesOf(months, "05")];
  },
};

describe("a report over a damaged audit log", () => {
  for (const [name, damage] of Object.entries(DAMAGES)) {
    for (const from of [null, utc("2026-04-02T00:00:00Z")]) {
      const period = from === null ? "from the beginning" : "from within the month";
      test(`has all other lines and names those that are missing, ${period}: ${name}`, async () => {
        const { store, months } = await openLongSite();
        const intact = unwrap(await readSiteRecord(openHistory(store), from));
        expect(intact.missing).toEqual([]);
        const lost = damage(months);
        const record = unwrap(await readSiteRecord(openHistory(store), from, "skip"));
        const missing = record.missing.flatMap(({ firstLine, lastLine }) =>
          Array.from({ length: lastLine - firstLine + 1 }, (_, index) => firstLine + index),
        );
        expect(missing).toEqual([...lost]);
        expect(record.consumptions).toHaveLength(intact.consumptions.length - lost.length);
        for (const { from: before, to: after } of record.missing) {
          expect([
            before >= utc("2026-03-01T00:00:00Z"),
            after < utc("2026-07-01T00:00:00Z"),
          ]).toEqual([true, true]);
        }
        const codes = store.health().warnings.map(({ code }) => code);
        expect(codes).toContain("audit_damaged");
      });
    }
  }

  test("says nothing of lines that are missing before its period", async () => {
    const { store, months } = await openLongSite();
    damageLines(months["03"]?.path ?? "", [1], IN_NUMBER);
    const record = unwrap(
      await readSiteRecord(openHistory(store), utc("2026-05-01T00:00:00Z"), "skip"),
    );
    expect(record.missing).toEqual([]);
  });
});

test("what must be complete is refused over a damaged audit log, with the line", async () => {
  const { store, months } = await openLongSite();
  const [line] = DAMAGES["a line without a number"]?.(months) ?? [];
  expect(await readSiteRecord(openHistory(store), null)).toEqual({
    ok: false,
    fault: { code: "audit_log_damaged", line: line ?? 0 },
  });
});
