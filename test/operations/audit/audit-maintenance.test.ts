// Repairing the audit log and sealing its months, on a store as a server has it.
import { describe, expect, test } from "bun:test";
import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { AuditMaintenance } from "../../../src/operations/audit/audit-maintenance.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { checkAuditExport } from "../../../src/operations/audit/audit-export-check.ts";
import { readLinesNewestFirst } from "../../../src/store/audit/read-backward.ts";
import { readForward } from "../../../src/store/audit/read-forward.ts";
import { StateFile } from "../../../src/store/state/state-file.ts";
import {
  backUpFolder,
  openSiteWithKey,
  editFile,
  flipBit,
  checkpointKeepingMonths,
  catchRefusal,
  restoreTo,
  verifyFolder,
} from "../../support/backup-site.ts";
import {
  transactOrThrow,
  unwrap,
  readLines,
  openSite,
  type OpenSite,
} from "../../support/licensed-store.ts";
import { listAuditMonths, writeMonths } from "../../support/audit-months.ts";
import { consume, utc } from "../../support/scenario.ts";
import { tellNoSlowSyncs } from "../../support/slow-syncs.ts";
import { copyFolder, tempFolder } from "../../support/temp-folder.ts";

tellNoSlowSyncs();

const DECLARATION = { note: "the disk was replaced", peer: "ops@socket" };
const MARCH = "history/2026-03.jsonl";
const APRIL = "history/2026-04.jsonl";
const JUNE = "history/2026-06.jsonl";

interface AuditedSite extends OpenSite {
  readonly audit: AuditMaintenance;
}

/** Two lines in each of four months, and two more in the first; the journal has the last two. */
async function openAuditedSite(): Promise<AuditedSite> {
  const site = await openSiteWithKey();
  await writeMonths(site, "03", "04", "05", "06");
  return { ...site, audit: new AuditMaintenance(site.store) };
}

/** Flips one bit of a line of the file. */
function damageLine(path: string, index: number): void {
  const { offset, raw } = readLines(path)[index] ?? {};
  flipBit(path, (offset ?? 0) + Math.floor((raw?.length ?? 0) / 2));
}

async function expectSiteToContinue({ store, folder, clock }: OpenSite): Promise<void> {
  clock.now = utc("2026-06-20T00:00:00Z");
  for (const count of [1, 2]) {
    await transactOrThrow(store, consume(count));
    await store.checkpoint();
    expect(store.status().checkpointError).toBeNull();
    await verifyFolder(copyFolder(folder));
  }
}

/** Exports the whole audit log and checks the export. */
function exportAndCheck({ store }: OpenSite) {
  const path = join(tempFolder(), "audit.jsonl");
  writeFileSync(
    path,
    Buffer.concat([...readForward(store.auditLogSource(), { since: null, until: null })]),
  );
  return checkAuditExport(realDisk, path);
}

describe("audit repair without loss", () => {
  test("changes nothing in an intact audit log", async () => {
    const { audit, folder } = await openAuditedSite();
    const before = readdirSync(join(folder, "history"));
    expect(unwrap(await audit.repair(null))).toEqual({
      missing: [],
      recovered: 0,
      written: [],
      backupFiles: [],
      declared: [],
    });
    expect(readdirSync(join(folder, "history"))).toEqual(before);
  });

  for (const [damageName, damage] of Object.entries<(path: string) => void>({
    "a changed byte": (path) => damageLine(path, 1),
    "a changed first line": (path) => flipBit(path, 5),
    "a missing end": (path) => truncateSync(path, statSync(path).size - 9),
    "no content": (path) => truncateSync(path),
  })) {
    test(`restores the newest file from the journal when it has ${damageName}`, async () => {
      const site = await openAuditedSite();
      const path = join(site.folder, JUNE);
      const before = readFileSync(path);
      damage(path);
      await catchRefusal(verifyFolder(copyFolder(site.folder)));
      const { missing, recovered, written, declared } = unwrap(await site.audit.repair(null));
      expect([missing, declared, written]).toEqual([[], [], ["2026-06.jsonl"]]);
      expect(recovered).toBeGreaterThan(0);
      expect(readFileSync(path)).toEqual(before);
      await verifyFolder(copyFolder(site.folder));
      await expectSiteToContinue(site);
    });
  }

  test("restores the newest file from the journal when it is missing", async () => {
    const site = await openAuditedSite();
    const path = join(site.folder, JUNE);
    const before = readFileSync(path);
    rmSync(path);
    expect(unwrap(await site.audit.repair(null))).toMatchObject({ missing: [], recovered: 2 });
    expect(readFileSync(path)).toEqual(before);
    await expectSiteToContinue(site);
  });

  test("restores the order of lines, and keeps the damaged file under another name", async () => {
    const site = await openAuditedSite();
    const path = join(site.folder, APRIL);
    const before = readFileSync(path);
    const [first, second] = readLines(path).map(({ raw }) => Buffer.from(raw));
    editFile(path, () => Buffer.concat([second ?? "", first ?? ""].map((raw) => Buffer.from(raw))));
    const swapped = readFileSync(path);
    expect(unwrap(await site.audit.repair(null))).toMatchObject({
      missing: [],
      written: ["2026-04.jsonl"],
      backupFiles: ["2026-04.jsonl.damaged"],
    });
    expect(readFileSync(path)).toEqual(before);
    expect(readFileSync(`${path}.damaged`)).toEqual(swapped);
    await verifyFolder(copyFolder(site.folder));
  });

  test("removes a duplicate line", async () => {
    const site = await openAuditedSite();
    const path = join(site.folder, APRIL);
    const before = readFileSync(path);
    editFile(path, (bytes) => Buffer.concat([bytes, readLines(path)[0]?.raw ?? Buffer.alloc(0)]));
    expect(unwrap(await site.audit.repair(null))).toMatchObject({ missing: [], recovered: 0 });
    expect(readFileSync(path)).toEqual(before);
  });
});

describe("audit repair with lost lines", () => {
  test("changes nothing and lists the missing lines unless the gap is accepted", async () => {
    const { folder, audit } = await openAuditedSite();
    damageLine(join(folder, APRIL), 0);
    const before = readFileSync(join(folder, APRIL));
    const lines = readLines(join(folder, MARCH));
    const { missing, written } = unwrap(await audit.repair(null));
    expect(written).toEqual([]);
    expect(missing).toEqual([
      {
        from: 5,
        to: 5,
        before: lines.at(-1)?.line.sum ?? "",
        after: expect.any(String),
        earliest: utc("2026-03-15T00:00:00Z"),
        latest: utc("2026-04-15T00:00:00Z"),
        files: ["2026-04.jsonl"],
      },
    ]);
    expect(readFileSync(join(folder, APRIL))).toEqual(before);
    await catchRefusal(verifyFolder(copyFolder(folder)));
  });

  test("declares exactly the damaged line as a gap, and the site goes on", async () => {
    const site = await openAuditedSite();
    const { folder, store, audit } = site;
    const path = join(folder, APRIL);
    const original = readFileSync(path);
    damageLine(path, 0);
    const damaged = readFileSync(path);
    const { declared, backupFiles } = unwrap(await audit.repair(DECLARATION));
    expect(backupFiles).toEqual(["2026-04.jsonl.damaged"]);
    expect(readFileSync(`${path}.damaged`)).toEqual(damaged);
    const sha256 = new Bun.CryptoHasher("sha256").update(damaged).digest("hex");
    expect(declared).toEqual([
      expect.objectContaining({
        reason: "damaged",
        from: 5,
        to: 5,
        files: [{ name: "2026-04.jsonl", bytes: damaged.length, sha256 }],
      }),
    ]);
    const report = await verifyFolder(copyFolder(folder));
    expect(report.auditLog).toMatchObject({ from: 1, lines: report.auditLog.to - 1 });
    expect(report.auditGaps).toEqual([...declared]);
    // The remaining line is an original one.
    expect(original.includes(readFileSync(path))).toBe(true);
    await expectSiteToContinue(site);
    expect(exportAndCheck(site)).toMatchObject({ firstSeq: 1, lastSeq: store.status().auditSeq });
    expect(exportAndCheck(site).gaps).toEqual([...declared]);
    expect(store.health().warnings.map(({ code }) => code)).toEqual([]);
  });

  test("declares a month whose file is missing, and exports skip it", async () => {
    const site = await openAuditedSite();
    const { folder, store, audit } = site;
    rmSync(join(folder, APRIL));
    const { declared } = unwrap(await audit.repair(DECLARATION));
    expect(declared).toMatchObject([{ from: 5, to: 6, files: [] }]);
    expect((await verifyFolder(copyFolder(folder))).auditLog.files).toBe(3);
    // Reading backward stops at a gap: usage before it cannot be computed.
    const read = await Array.fromAsync(readLinesNewestFirst(store.auditLogSource()));
    expect(read.at(-1)?.audit_seq).toBe(7);
    expect(exportAndCheck(site).gaps).toMatchObject([{ from: 5, to: 6 }]);
    await expectSiteToContinue(site);
  });

  test("continues in a new file when the newest one lost its first line", async () => {
    const site = await openAuditedSite();
    await expectSiteToContinue(site);
    await expectSiteToContinue(site);
    const path = join(site.folder, JUNE);
    flipBit(path, 5);
    const { declared } = unwrap(await site.audit.repair(DECLARATION));
    expect(declared).toMatchObject([{ from: 9, to: 9, files: [{ name: "2026-06.jsonl" }] }]);
    const before = readFileSync(path);
    await expectSiteToContinue(site);
    expect(readFileSync(path)).toEqual(before);
    expect(listAuditMonths(site.folder)).toContain("06-15");
  });

  test("keeps its gaps in backups and after a restore", async () => {
    const site = await openAuditedSite();
    damageLine(join(site.folder, APRIL), 1);
    const { declared } = unwrap(await site.audit.repair(DECLARATION));
    const folder = join(tempFolder(), "data");
    await restoreTo(folder, await backUpFolder(site.folder));
    expect((await verifyFolder(folder)).auditGaps).toEqual([...declared]);
  });

  test("keeps its gaps when an older state file is used", async () => {
    const site = await openAuditedSite();
    damageLine(join(site.folder, APRIL), 1);
    unwrap(await site.audit.repair(DECLARATION));
    const folder = copyFolder(site.folder);
    truncateSync(join(folder, "state.json"));
    const { hint } = await catchRefusal(verifyFolder(folder));
    expect(Bun.spawnSync(["sh", "-c", hint]).exitCode).toBe(0);
    expect((await verifyFolder(folder)).auditGaps).toMatchObject([{ from: 6, to: 6 }]);
  });

  test("declares at most 64 gaps, however many lines are damaged", async () => {
    const site = await openSiteWithKey();
    site.clock.now = utc("2026-04-15T00:00:00Z");
    for (let count = 1; count <= 400; count += 1) await transactOrThrow(site.store, consume(count));
    await site.store.checkpoint();
    await writeMonths(site, "05", "06", "07");
    const path = join(site.folder, APRIL);
    const lines = readLines(path).filter((_line, index) => index % 2 === 1);
    for (const { offset, raw } of lines) flipBit(path, offset + raw.length - 9);
    const audit = new AuditMaintenance(site.store);
    const { declared } = unwrap(await audit.repair(DECLARATION));
    expect(declared.length).toBe(64);
    expect((await verifyFolder(copyFolder(site.folder))).auditGaps.length).toBe(64);
    await expectSiteToContinue(site);
  });
});

describe("sealing an audit log month", () => {
  test("removes its lines and keeps their sum in the chain", async () => {
    const site = await openAuditedSite();
    const { folder, store, audit } = site;
    const path = join(folder, APRIL);
    const bytes = readFileSync(path);
    const lines = readLines(path).map(({ line }) => line);
    const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    const { gaps, removed, freedBytes } = unwrap(await audit.seal("2026-04", DECLARATION));
    expect([removed, freedBytes]).toEqual([["2026-04.jsonl"], bytes.length]);
    expect(gaps).toEqual([
      {
        reason: "sealed",
        from: 5,
        to: 6,
        before: lines[0]?.audit_prev ?? "",
        after: lines[1]?.sum ?? "",
        at: expect.any(Number),
        earliest: lines[0]?.at ?? null,
        latest: lines[1]?.at ?? null,
        files: [{ name: "2026-04.jsonl", bytes: bytes.length, sha256 }],
      },
    ]);
    expect(existsSync(path)).toBe(false);
    expect((await verifyFolder(copyFolder(folder))).auditGaps).toEqual([...gaps]);
    expect(exportAndCheck(site).gaps).toEqual([...gaps]);
    await expectSiteToContinue(site);
    const declaredGaps = store.peek(({ auditGaps }) => auditGaps);
    expect(declaredGaps).toEqual([...gaps]);
  });

  test("makes a checkpoint first for the current month, and continues in a new file", async () => {
    const site = await openAuditedSite();
    const { folder, store, audit } = site;
    await transactOrThrow(store, consume(3));
    const { gaps } = unwrap(await audit.seal("2026-06", DECLARATION));
    expect(gaps).toMatchObject([{ from: 9, to: 11 }]);
    expect(listAuditMonths(folder)).toEqual(["03", "04", "05", "06-12"]);
    await verifyFolder(copyFolder(folder));
    await expectSiteToContinue(site);
    expect(listAuditMonths(folder)).toEqual(["03", "04", "05", "06-12"]);
  });

  test("leaves an audit log that begins later for the first month", async () => {
    const site = await openAuditedSite();
    unwrap(await site.audit.seal("2026-03", DECLARATION));
    expect((await verifyFolder(copyFolder(site.folder))).auditGaps).toMatchObject([
      { from: 1, to: 4 },
    ]);
    expect(exportAndCheck(site)).toMatchObject({ firstSeq: 5, gaps: [] });
    await expectSiteToContinue(site);
  });

  test("is refused for a month that is empty, sealed or damaged", async () => {
    const { folder, audit } = await openAuditedSite();
    expect(await audit.seal("2026-01", DECLARATION)).toEqual({
      ok: false,
      fault: { code: "audit_month_empty" },
    });
    unwrap(await audit.seal("2026-04", DECLARATION));
    expect(await audit.seal("2026-04", DECLARATION)).toEqual({
      ok: false,
      fault: { code: "audit_month_sealed" },
    });
    damageLine(join(folder, "history/2026-05.jsonl"), 1);
    expect(await audit.seal("2026-05", DECLARATION)).toEqual({
      ok: false,
      fault: { code: "audit_month_damaged", file: "2026-05.jsonl" },
    });
    expect(listAuditMonths(folder)).toContain("05");
  });

  test("is refused when the neighboring months do not connect to it", async () => {
    const { folder, audit } = await openAuditedSite();
    flipBit(join(folder, "history/2026-05.jsonl"), 5);
    expect(await audit.seal("2026-04", DECLARATION)).toMatchObject({
      fault: { code: "audit_month_damaged", file: "2026-04.jsonl" },
    });
    damageLine(join(folder, MARCH), 3);
    expect(await audit.seal("2026-04", DECLARATION)).toMatchObject({
      fault: { code: "audit_month_damaged", file: "2026-04.jsonl" },
    });
  });

  test("includes a gap that was declared in it", async () => {
    const site = await openAuditedSite();
    damageLine(join(site.folder, APRIL), 0);
    unwrap(await site.audit.repair(DECLARATION));
    const { gaps } = unwrap(await site.audit.seal("2026-04", DECLARATION));
    expect(gaps).toMatchObject([{ reason: "sealed", from: 6, to: 6 }]);
    await verifyFolder(copyFolder(site.folder));
    await expectSiteToContinue(site);
  });

  test("declares gaps again when their declaration is removed, so that exports show them", async () => {
    const site = await openAuditedSite();
    unwrap(await site.audit.seal("2026-04", DECLARATION));
    // The first gap is declared in June, which is sealed as well.
    unwrap(await site.audit.seal("2026-06", DECLARATION));
    await verifyFolder(copyFolder(site.folder));
    expect(exportAndCheck(site).gaps).toMatchObject([
      { from: 5, to: 6 },
      { from: 9, to: 11 },
    ]);
  });

  test("leaves a chain that verifies when every month is sealed in turn", async () => {
    const site = await openAuditedSite();
    for (const month of ["05", "03", "06", "04"]) {
      unwrap(await site.audit.seal(`2026-${month}`, DECLARATION));
      await verifyFolder(copyFolder(site.folder));
      exportAndCheck(site);
    }
    await expectSiteToContinue(site);
  });

  test("keeps its gap when an older state file is used, and the site goes on", async () => {
    const site = await openAuditedSite();
    unwrap(await site.audit.seal("2026-06", DECLARATION));
    const folder = copyFolder(site.folder);
    truncateSync(join(folder, "state.json"));
    const { hint } = await catchRefusal(verifyFolder(folder));
    expect(Bun.spawnSync(["sh", "-c", hint]).exitCode).toBe(0);
    expect((await verifyFolder(folder)).auditGaps).toMatchObject([{ from: 9, to: 10 }]);
    await expectSiteToContinue(await openSite({ folder }));
  });

  test("is forgotten when all months before it are removed as well", async () => {
    const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(1) });
    await writeMonths(site, "03", "04");
    const audit = new AuditMaintenance(site.store);
    unwrap(await audit.seal("2026-03", DECLARATION));
    await writeMonths(site, "05", "06", "07");
    expect((await verifyFolder(copyFolder(site.folder))).auditGaps).toEqual([]);
    expect((await new StateFile(realDisk, site.folder).read())?.auditGaps).toEqual([]);
  });
});

describe("a checkpoint that cannot continue the audit log", () => {
  test("leaves the site working with a warning that names file and command", async () => {
    const site = await openAuditedSite();
    const { folder, store, audit } = site;
    await writeMonths(site, "06", "06");
    rmSync(join(folder, JUNE));
    await transactOrThrow(store, consume(1));
    await store.checkpoint();
    const { warnings } = store.health();
    expect(warnings.map(({ code }) => code)).toEqual(["checkpoint_failing", "audit_damaged"]);
    expect(warnings[1]?.message).toContain(join(folder, JUNE));
    expect(warnings[1]?.message).toContain("berth audit repair");
    await transactOrThrow(store, consume(2));
    unwrap(await audit.repair(DECLARATION));
    expect(store.health().warnings).toEqual([]);
    await expectSiteToContinue(site);
  });

  test("works again when the file is put back", async () => {
    const site = await openAuditedSite();
    const { folder, store } = site;
    await writeMonths(site, "06", "06");
    const bytes = readFileSync(join(folder, JUNE));
    rmSync(join(folder, JUNE));
    await transactOrThrow(store, consume(1));
    await store.checkpoint();
    expect(store.health().warnings).toHaveLength(2);
    writeFileSync(join(folder, JUNE), bytes);
    await expectSiteToContinue(site);
    expect(store.health().warnings).toEqual([]);
  });
});
