import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type {
  AuditRepairReply,
  AuditSealReply,
} from "../../../../src/http/routes/audit/audit-maintenance.ts";
import type { AuditPageReply } from "../../../../src/http/routes/audit/audit-log.ts";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
  type RequestFields,
} from "../../../support/appliance.ts";
import { flipBit } from "../../../support/backup-site.ts";
import { readLines } from "../../../support/licensed-store.ts";
import { utc } from "../../../support/scenario.ts";

const AUDIT = "/api/admin/v1/audit";
const MARCH = "2026-03.jsonl";

const repair = async (site: Appliance, body: RequestFields): Promise<AuditRepairReply> =>
  expectOk(await site.post<AuditRepairReply>(`${AUDIT}/repair`, body));

const seal = async (site: Appliance, body: RequestFields): Promise<AuditSealReply> =>
  expectOk(await site.post<AuditSealReply>(`${AUDIT}/seal`, body));

/** A site with entries of March, April and May; those of May are still in the journal. */
async function openThreeMonthSite(): Promise<Appliance> {
  const site = await openAppliance();
  for (const month of ["03", "04", "05"]) {
    site.clock.now = utc(`2026-${month}-15T00:00:00Z`);
    expectOk(await site.addConsumption({ user: "ada" }));
    // Writes a checkpoint, and seals nothing.
    expectRefusal(await site.post(`${AUDIT}/seal`, { month: "2020-01" }), 400, "audit_month_empty");
  }
  return site;
}

const auditFilePath = ({ folder }: Appliance, name: string): string =>
  join(folder, "history", name);

function damageLine(site: Appliance, name: string, lineIndex: number): void {
  const path = auditFilePath(site, name);
  flipBit(path, (readLines(path)[lineIndex]?.offset ?? 0) + 99);
}

describe("repairing the audit log", () => {
  test("lists missing lines, and declares a gap only with a reason, for the caller's address", async () => {
    const site = await openThreeMonthSite();
    damageLine(site, MARCH, 1);
    const before = site.lastSeq();
    const report = await repair(site, {});
    expect(report).toEqual({
      intact: false,
      missing_lines: [
        {
          from_line: 2,
          to_line: 2,
          earliest: expect.stringMatching(/^2026-03-02T/),
          latest: expect.stringMatching(/^2026-03-02T/),
          files: [MARCH],
        },
      ],
      recovered_lines: 0,
      rewritten_files: [],
      backup_files: [],
      declared_gaps: [],
    });
    expect(await repair(site, { accept_gap: "  " })).toEqual(report);
    expect(site.lastSeq()).toBe(before);
    const repaired = await repair(site, { accept_gap: "a bad sector" });
    expect(repaired).toMatchObject({
      intact: true,
      missing_lines: [],
      backup_files: [`${MARCH}.damaged`],
      declared_gaps: [{ reason: "damaged", from_line: 2, to_line: 2, files: [{ name: MARCH }] }],
    });
    const query = `${AUDIT}?type=AuditGapDeclared`;
    const { events } = expectOk(await site.get<AuditPageReply>(query));
    expect(events).toMatchObject([
      {
        peer: "127.0.0.1",
        summary: "audit log line 2 declared missing (damaged): a bad sector",
        detail: { reason: "damaged", from_line: 2, to_line: 2, note: "a bad sector" },
      },
    ]);
  });

  test("makes the audit log readable past the gap to its beginning", async () => {
    const site = await openThreeMonthSite();
    damageLine(site, MARCH, 1);
    expectRefusal(await site.get(`${AUDIT}?before=3`), 503, "audit_log_damaged");
    await repair(site, { accept_gap: "a bad sector" });
    const { events, next } = expectOk(await site.get<AuditPageReply>(AUDIT));
    expect(next).toBeNull();
    expect(events.at(-1)?.type).toBe("Created");
    expect(events.map(({ seq }) => seq)).not.toContain(2);
  });

  test("adds the declared gap to the status", async () => {
    const site = await openThreeMonthSite();
    damageLine(site, MARCH, 1);
    await repair(site, { accept_gap: "a bad sector" });
    const { storage } = expectOk(await site.status());
    expect(storage.audit_gaps).toEqual([
      { reason: "damaged", from_line: 2, to_line: 2, declared_at: "2026-05-15T00:00:00.000Z" },
    ]);
  });

  test("refuses a reason with invalid characters, of more than 4096 bytes, or of another type", async () => {
    const site = await openThreeMonthSite();
    const repairWith = (accept_gap: unknown) => () => site.post(`${AUDIT}/repair`, { accept_gap });
    await expectRefusedUnchanged(site, 400, "invalid_characters", repairWith("a\u202eb"));
    await expectRefusedUnchanged(site, 400, "too_long", repairWith("x".repeat(4_097)));
    await expectRefusedUnchanged(site, 400, "invalid_type", repairWith(7));
  });
});

describe("sealing a month of the audit log", () => {
  test("removes its file and keeps its hashes in the chain", async () => {
    const site = await openThreeMonthSite();
    const { gaps, removed_files, freed_bytes } = await seal(site, {
      month: "2026-03",
      note: "a flood",
    });
    expect(removed_files).toEqual([MARCH]);
    expect(gaps).toMatchObject([{ reason: "sealed", from_line: 1, files: [{ name: MARCH }] }]);
    expect(freed_bytes).toBe(gaps[0]?.files[0]?.bytes ?? 0);
    expect(readdirSync(join(site.folder, "history"))).not.toContain(MARCH);
    const { events, next } = expectOk(await site.get<AuditPageReply>(AUDIT));
    expect([events[0]?.summary, next]).toEqual([
      `audit log lines 1 to ${gaps[0]?.to_line} declared missing (sealed): a flood`,
      null,
    ]);
    await expectRefusedUnchanged(site, 409, "audit_month_sealed", () =>
      site.post(`${AUDIT}/seal`, { month: "2026-03" }),
    );
  });

  test("is refused for an invalid month and for a damaged one", async () => {
    const site = await openThreeMonthSite();
    const sealWith = (body: RequestFields) => () => site.post(`${AUDIT}/seal`, body);
    await expectRefusedUnchanged(site, 400, "missing_parameters", sealWith({}));
    for (const month of ["2026-13", "2026", "2026-3", "../2026-03", "2026-03.jsonl"]) {
      await expectRefusedUnchanged(site, 400, "invalid_parameter", sealWith({ month }));
    }
    damageLine(site, MARCH, 1);
    const message = await expectRefusedUnchanged(
      site,
      409,
      "audit_month_damaged",
      sealWith({ month: "2026-03" }),
    );
    expect(message).toContain(MARCH);
    expect(readdirSync(join(site.folder, "history"))).toContain(MARCH);
  });
});
