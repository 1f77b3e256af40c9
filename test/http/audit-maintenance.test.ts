import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { AuditRepairReply, AuditSealReply } from "../../src/http/routes/audit-maintenance.ts";
import type { AuditPageReply } from "../../src/http/routes/audit-log.ts";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
  type RequestFields,
} from "../support/appliance.ts";
import { flipBit } from "../support/backup-site.ts";
import { readLines } from "../support/licensed-store.ts";
import { utc } from "../support/scenario.ts";

const RECORD = "/api/admin/v1/audit";
const MARCH = "2026-03.jsonl";

const repair = async (site: Appliance, body: RequestFields): Promise<AuditRepairReply> =>
  expectOk(await site.post<AuditRepairReply>(`${RECORD}/repair`, body));

const seal = async (site: Appliance, body: RequestFields): Promise<AuditSealReply> =>
  expectOk(await site.post<AuditSealReply>(`${RECORD}/seal`, body));

/** March, April and May; the last one is what the journal still has. */
async function lived(): Promise<Appliance> {
  const site = await openAppliance();
  for (const month of ["03", "04", "05"]) {
    site.clock.now = utc(`2026-${month}-15T00:00:00Z`);
    expectOk(await site.addConsumption({ user: "ada" }));
    // Folds, and seals nothing.
    expectRefusal(
      await site.post(`${RECORD}/seal`, { month: "2020-01" }),
      400,
      "audit_month_empty",
    );
  }
  return site;
}

const pathOf = ({ folder }: Appliance, name: string): string => join(folder, "history", name);

function spoil(site: Appliance, name: string, place: number): void {
  const path = pathOf(site, name);
  flipBit(path, (readLines(path)[place]?.offset ?? 0) + 99);
}

describe("repairing the audit log", () => {
  test("tells what is missing, and declares it only with a reason, as who asked", async () => {
    const site = await lived();
    spoil(site, MARCH, 1);
    const before = site.lastSeq();
    const found = await repair(site, {});
    expect(found).toEqual({
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
    expect(await repair(site, { accept_gap: "  " })).toEqual(found);
    expect(site.lastSeq()).toBe(before);
    const done = await repair(site, { accept_gap: "a bad sector" });
    expect(done).toMatchObject({
      intact: true,
      missing_lines: [],
      backup_files: [`${MARCH}.damaged`],
      declared_gaps: [{ reason: "damaged", from_line: 2, to_line: 2, files: [{ name: MARCH }] }],
    });
    const query = `${RECORD}?type=AuditGapDeclared`;
    const { events } = expectOk(await site.get<AuditPageReply>(query));
    expect(events).toMatchObject([
      {
        peer: "127.0.0.1",
        summary: "audit log line 2 declared missing (damaged): a bad sector",
        detail: { reason: "damaged", from_line: 2, to_line: 2, note: "a bad sector" },
      },
    ]);
  });

  test("leaves a record that is read past the gap to its beginning", async () => {
    const site = await lived();
    spoil(site, MARCH, 1);
    expectRefusal(await site.get(`${RECORD}?before=3`), 503, "audit_log_damaged");
    await repair(site, { accept_gap: "a bad sector" });
    const { events, next } = expectOk(await site.get<AuditPageReply>(RECORD));
    expect(next).toBeNull();
    expect(events.at(-1)?.type).toBe("Created");
    expect(events.map(({ seq }) => seq)).not.toContain(2);
  });

  test("is told by status from then on", async () => {
    const site = await lived();
    spoil(site, MARCH, 1);
    await repair(site, { accept_gap: "a bad sector" });
    const { storage } = expectOk(await site.status());
    expect(storage.audit_gaps).toEqual([
      { reason: "damaged", from_line: 2, to_line: 2, declared_at: "2026-05-15T00:00:00.000Z" },
    ]);
  });

  test("takes no reason that could not be shown", async () => {
    const site = await lived();
    const asked = (accept_gap: unknown) => () => site.post(`${RECORD}/repair`, { accept_gap });
    await expectRefusedUnchanged(site, 400, "invalid_characters", asked("a\u202eb"));
    await expectRefusedUnchanged(site, 400, "too_long", asked("x".repeat(4_097)));
    await expectRefusedUnchanged(site, 400, "invalid_type", asked(7));
  });
});

describe("sealing a month", () => {
  test("removes its file and keeps what it was in the chain", async () => {
    const site = await lived();
    const { gaps, removed_files, freed_bytes } = await seal(site, {
      month: "2026-03",
      note: "a flood",
    });
    expect(removed_files).toEqual([MARCH]);
    expect(gaps).toMatchObject([{ reason: "sealed", from_line: 1, files: [{ name: MARCH }] }]);
    expect(freed_bytes).toBe(gaps[0]?.files[0]?.bytes ?? 0);
    expect(readdirSync(join(site.folder, "history"))).not.toContain(MARCH);
    const { events, next } = expectOk(await site.get<AuditPageReply>(RECORD));
    expect([events[0]?.summary, next]).toEqual([
      `audit log lines 1 to ${gaps[0]?.to_line} declared missing (sealed): a flood`,
      null,
    ]);
    await expectRefusedUnchanged(site, 409, "audit_month_sealed", () =>
      site.post(`${RECORD}/seal`, { month: "2026-03" }),
    );
  });

  test("is refused for what is no month, and for one that is damaged", async () => {
    const site = await lived();
    const asked = (body: RequestFields) => () => site.post(`${RECORD}/seal`, body);
    await expectRefusedUnchanged(site, 400, "missing_parameters", asked({}));
    for (const month of ["2026-13", "2026", "2026-3", "../2026-03", "2026-03.jsonl"]) {
      await expectRefusedUnchanged(site, 400, "invalid_parameter", asked({ month }));
    }
    spoil(site, MARCH, 1);
    const said = await expectRefusedUnchanged(
      site,
      409,
      "audit_month_damaged",
      asked({ month: "2026-03" }),
    );
    expect(said).toContain(MARCH);
    expect(readdirSync(join(site.folder, "history"))).toContain(MARCH);
  });
});
