import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AuditMaintenance } from "../../../src/operations/audit-maintenance.ts";
import { realDisk } from "../../../src/platform/disk.ts";
import {
  checkAuditExport,
  type CheckedAuditExport,
} from "../../../src/store/audit/export-check.ts";
import { readForward } from "../../../src/store/audit/read-forward.ts";
import { AuditExportRefused } from "../../../src/store/refusal.ts";
import { checkpointKeepingMonths, openSiteWithKey } from "../../support/backup-site.ts";
import { writeLongAuditLog } from "../../support/long-audit-log.ts";
import { openLicensedSite, openSite, type OpenSite } from "../../support/licensed-store.ts";
import { writeMonths } from "../../support/audit-months.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const ALL = { since: null, until: null };

const exported = ({ store }: OpenSite): string =>
  Buffer.concat([...readForward(store.auditLogSource(), ALL)]).toString();

function checked(text: string | Uint8Array): CheckedAuditExport {
  const path = join(tempFolder(), "record.jsonl");
  writeFileSync(path, text);
  return checkAuditExport(realDisk, path);
}

function refusalOf(text: string | Uint8Array): string {
  try {
    checked(text);
  } catch (error) {
    if (error instanceof AuditExportRefused) return error.message.replace(/^\S+: /, "");
    throw error;
  }
  throw new Error("it was not refused");
}

describe("an exported record", () => {
  test("is a chain from the beginning, over months and into the journal", async () => {
    const site = await openLicensedSite();
    await writeMonths(site, "04", "05");
    expect(checked(exported(site))).toMatchObject({ lines: 6, first: 1, last: 6, anchor: null });
  });

  test("says what it begins behind when months were let go of", async () => {
    const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(1) });
    await writeMonths(site, "04", "05", "07", "08", "09");
    const { lines, firstSeq, lastSeq, anchor } = checked(exported(site));
    expect([firstSeq > 1, lastSeq, lines]).toEqual([true, 12, 12 - firstSeq + 1]);
    expect(anchor).toMatch(/^[0-9a-f]{64}$/);
  });

  test("that is long comes whole, in parts", async () => {
    const folder = join(tempFolder(), "data");
    await writeLongAuditLog(folder, 20_000, 9);
    const { store } = await openSite({ folder });
    const parts = [...readForward(store.auditLogSource(), ALL)];
    expect(parts.length).toBeGreaterThan(20);
    expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(512 * 1024);
    expect(checked(Buffer.concat(parts))).toMatchObject({ lines: 20_001, anchor: null });
  });

  test("in which any line is missing, or stands elsewhere, is refused at that line", async () => {
    const site = await openLicensedSite();
    await writeMonths(site, "04", "05");
    const lines = exported(site).split(/(?<=\n)/);
    for (let index = 1; index < lines.length - 1; index += 1) {
      const without = lines.toSpliced(index, 1);
      expect(refusalOf(without.join(""))).toStartWith(
        `line ${index + 1} is line ${index + 2} of the audit log and does not continue`,
      );
      const twice = lines.toSpliced(index, 0, lines[index] ?? "");
      expect(refusalOf(twice.join(""))).toStartWith(`line ${index + 2} is line ${index + 1} of`);
    }
  });

  test("with a declared gap is accepted with exactly the lines of the gap missing", async () => {
    const site = await openSiteWithKey();
    await writeMonths(site, "03", "04", "05", "06");
    const before = exported(site).split(/(?<=\n)/);
    const sealed = await new AuditMaintenance(site.store).seal("2026-04", { note: "", peer: "" });
    expect(sealed.ok).toBe(true);
    const lines = exported(site).split(/(?<=\n)/);
    expect(checked(lines.join("")).gaps).toMatchObject([{ from: 5, to: 6 }]);
    // Whoever has the lines of the gap may show them.
    expect(checked([...before, ...lines.slice(before.length - 2)].join("")).gaps).toEqual([]);
    const numbers = lines.map((line) => Number(/"audit_seq":(\d+)/.exec(line)?.[1]));
    for (let index = 1; index < lines.length - 1; index += 1) {
      const without = refusalOf(lines.toSpliced(index, 1).join(""));
      expect(without).toContain(
        `is line ${numbers[index + 1]} of the audit log and does not continue`,
      );
    }
    // The line that declares it is the last one.
    expect(refusalOf(lines.slice(0, -1).join(""))).toContain(
      "5 to 6 are missing, and no line of the file declares them as lost",
    );
    const half = [...lines.slice(0, 4), before[4], ...lines.slice(4)].join("");
    expect(checked(half).lines).toBe(lines.length + 1);
  });

  test("in which any byte was changed is refused at its line", async () => {
    const site = await openLicensedSite();
    const text = Buffer.from(exported(site));
    const end = text.indexOf(10);
    for (let place = 0; place < text.length; place += 7) {
      const changed = Buffer.from(text);
      changed[place] = (changed[place] ?? 0) ^ 1;
      expect(refusalOf(changed)).toStartWith(`line ${place <= end ? 1 : 2} `);
    }
  });

  test("that was written anew with a sum of its own does not continue the one before", async () => {
    const site = await openLicensedSite();
    await writeMonths(site, "04");
    const lines = exported(site).split(/(?<=\n)/);
    const forged = forge(lines[2] ?? "");
    expect(refusalOf(lines.with(2, forged).join(""))).toStartWith(
      "line 4 is line 4 of the audit log",
    );
  });

  test("that was cut short, is empty, or is something else is refused", async () => {
    const text = exported(await openLicensedSite());
    expect(refusalOf(text.slice(0, -1))).toBe("line 2 is incomplete");
    expect(refusalOf("")).toEndWith("contains no line of an audit log");
    expect(refusalOf(`${text}\n`)).toBe("line 3 is not a line of an audit log");
    expect(refusalOf(readFileSync(import.meta.path))).toBe("line 1 is not a line of an audit log");
  });
});

/** The same line with another count and the sum that belongs to it. */
function forge(line: string): string {
  const content = line.slice(0, line.lastIndexOf(',"sum"')).replace('"count":1,', '"count":7,');
  const sum = new Bun.CryptoHasher("sha256").update(content).digest("hex");
  return `${content},"sum":"${sum}"}\n`;
}
