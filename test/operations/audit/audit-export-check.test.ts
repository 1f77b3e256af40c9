import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AuditMaintenance } from "../../../src/operations/audit/audit-maintenance.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import {
  checkAuditExport,
  type CheckedAuditExport,
} from "../../../src/operations/audit/audit-export-check.ts";
import { readForward } from "../../../src/store/audit/read-forward.ts";
import { AuditExportRefused } from "../../../src/store/folder/refusal.ts";
import { checkpointKeepingMonths, openSiteWithKey } from "../../support/backup-site.ts";
import { writeLongAuditLog } from "../../support/long-audit-log.ts";
import { openLicensedSite, openSite, type OpenSite } from "../../support/licensed-store.ts";
import { writeMonths } from "../../support/audit-months.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const ALL = { since: null, until: null };

const exportAuditLog = ({ store }: OpenSite): string =>
  Buffer.concat([...readForward(store.auditLogSource(), ALL)]).toString();

function checkExport(text: string | Uint8Array): CheckedAuditExport {
  const path = join(tempFolder(), "audit.jsonl");
  writeFileSync(path, text);
  return checkAuditExport(realDisk, path);
}

function catchExportRefusal(text: string | Uint8Array): string {
  try {
    checkExport(text);
  } catch (error) {
    if (error instanceof AuditExportRefused) return error.message.replace(/^\S+: /, "");
    throw error;
  }
  throw new Error("the export was not refused");
}

describe("audit log export", () => {
  test("is one chain from the first line, over several months and into the journal", async () => {
    const site = await openLicensedSite();
    await writeMonths(site, "04", "05");
    expect(checkExport(exportAuditLog(site))).toMatchObject({
      lines: 6,
      firstSeq: 1,
      lastSeq: 6,
      anchor: null,
    });
  });

  test("has an anchor when older months were removed", async () => {
    const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(1) });
    await writeMonths(site, "04", "05", "07", "08", "09");
    const { lines, firstSeq, lastSeq, anchor } = checkExport(exportAuditLog(site));
    expect([firstSeq > 1, lastSeq, lines]).toEqual([true, 12, 12 - firstSeq + 1]);
    expect(anchor).toMatch(/^[0-9a-f]{64}$/);
  });

  test("of a long audit log is complete and is read in parts", async () => {
    const folder = join(tempFolder(), "data");
    await writeLongAuditLog(folder, 20_000, 9);
    const { store } = await openSite({ folder });
    const parts = [...readForward(store.auditLogSource(), ALL)];
    expect(parts.length).toBeGreaterThan(20);
    expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(512 * 1024);
    expect(checkExport(Buffer.concat(parts))).toMatchObject({ lines: 20_001, anchor: null });
  });

  test("is refused at the line where a line is missing or repeated", async () => {
    const site = await openLicensedSite();
    await writeMonths(site, "04", "05");
    const lines = exportAuditLog(site).split(/(?<=\n)/);
    for (let index = 1; index < lines.length - 1; index += 1) {
      const without = lines.toSpliced(index, 1);
      expect(catchExportRefusal(without.join(""))).toStartWith(
        `line ${index + 1} is line ${index + 2} of the audit log and does not continue`,
      );
      const withRepeat = lines.toSpliced(index, 0, lines[index] ?? "");
      expect(catchExportRefusal(withRepeat.join(""))).toStartWith(
        `line ${index + 2} is line ${index + 1} of`,
      );
    }
  });

  test("with a declared gap is accepted only when exactly the lines of the gap are missing", async () => {
    const site = await openSiteWithKey();
    await writeMonths(site, "03", "04", "05", "06");
    const before = exportAuditLog(site).split(/(?<=\n)/);
    const result = await new AuditMaintenance(site.store).seal("2026-04", { note: "", peer: "" });
    expect(result.ok).toBe(true);
    const lines = exportAuditLog(site).split(/(?<=\n)/);
    expect(checkExport(lines.join("")).gaps).toMatchObject([{ from: 5, to: 6 }]);
    // An export that still has the lines of the gap is accepted, too.
    expect(checkExport([...before, ...lines.slice(before.length - 2)].join("")).gaps).toEqual([]);
    const numbers = lines.map((line) => Number(/"audit_seq":(\d+)/.exec(line)?.[1]));
    for (let index = 1; index < lines.length - 1; index += 1) {
      const without = catchExportRefusal(lines.toSpliced(index, 1).join(""));
      expect(without).toContain(
        `is line ${numbers[index + 1]} of the audit log and does not continue`,
      );
    }
    // The last line is the one that declares the gap.
    expect(catchExportRefusal(lines.slice(0, -1).join(""))).toContain(
      "lines 5 to 6 are missing, and no line of the file declares that as a gap",
    );
    const withPartOfGap = [...lines.slice(0, 4), before[4], ...lines.slice(4)].join("");
    expect(checkExport(withPartOfGap).lines).toBe(lines.length + 1);
  });

  test("is refused at the line in which any byte was changed", async () => {
    const site = await openLicensedSite();
    const text = Buffer.from(exportAuditLog(site));
    const end = text.indexOf(10);
    for (let offset = 0; offset < text.length; offset += 7) {
      const changed = Buffer.from(text);
      changed[offset] = (changed[offset] ?? 0) ^ 1;
      expect(catchExportRefusal(changed)).toStartWith(`line ${offset <= end ? 1 : 2} `);
    }
  });

  test("is refused after a line that was changed and given a new checksum", async () => {
    const site = await openLicensedSite();
    await writeMonths(site, "04");
    const lines = exportAuditLog(site).split(/(?<=\n)/);
    const forged = forge(lines[2] ?? "");
    expect(catchExportRefusal(lines.with(2, forged).join(""))).toStartWith(
      "line 4 is line 4 of the audit log",
    );
  });

  test("is refused when it is truncated, empty, or no audit log", async () => {
    const text = exportAuditLog(await openLicensedSite());
    expect(catchExportRefusal(text.slice(0, -1))).toBe("line 2 is incomplete");
    expect(catchExportRefusal("")).toEndWith("contains no line of an audit log");
    expect(catchExportRefusal(`${text}\n`)).toBe("line 3 is not a line of an audit log");
    expect(catchExportRefusal(readFileSync(import.meta.path))).toBe(
      "line 1 is not a line of an audit log",
    );
  });
});

/** Returns the line with another count and a matching checksum. */
function forge(line: string): string {
  const content = line.slice(0, line.lastIndexOf(',"sum"')).replace('"count":1,', '"count":7,');
  const sum = new Bun.CryptoHasher("sha256").update(content).digest("hex");
  return `${content},"sum":"${sum}"}\n`;
}
