// Mending the audit log and sealing months of it, on a store as a server has it.
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
import { AuditMaintenance } from "../../src/operations/audit-maintenance.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { checkAuditExport } from "../../src/store/audit/export-check.ts";
import { readLinesNewestFirst } from "../../src/store/audit/read-backward.ts";
import { readForward } from "../../src/store/audit/read-forward.ts";
import { StateFile } from "../../src/store/state-file.ts";
import {
  backUpFolder,
  openSiteWithKey,
  editFile,
  flipBit,
  checkpointKeepingMonths,
  catchRefusal,
  restoreTo,
  verifyFolder,
} from "../support/backup-site.ts";
import {
  transactOrThrow,
  unwrap,
  readLines,
  openSite,
  type OpenSite,
} from "../support/licensed-store.ts";
import { listAuditMonths, writeMonths } from "../support/audit-months.ts";
import { consume, utc } from "../support/scenario.ts";
import { tellNoSlowSyncs } from "../support/slow-syncs.ts";
import { copyFolder, tempFolder } from "../support/temp-folder.ts";

tellNoSlowSyncs();

const BY = { note: "the disk was replaced", peer: "ops@socket" };
const MARCH = "history/2026-03.jsonl";
const APRIL = "history/2026-04.jsonl";
const JUNE = "history/2026-06.jsonl";

interface Lived extends OpenSite {
  readonly audit: AuditMaintenance;
}

/** Two lines in each of four months, and two more in the first; the journal has the last two. */
async function lived(): Promise<Lived> {
  const site = await openSiteWithKey();
  await writeMonths(site, "03", "04", "05", "06");
  return { ...site, audit: new AuditMaintenance(site.store) };
}

/** The line at this place of a file, with one bit changed. */
function spoil(path: string, place: number): void {
  const { offset, raw } = readLines(path)[place] ?? {};
  flipBit(path, (offset ?? 0) + Math.floor((raw?.length ?? 0) / 2));
}

async function goesOn({ store, folder, clock }: OpenSite): Promise<void> {
  clock.now = utc("2026-06-20T00:00:00Z");
  for (const count of [1, 2]) {
    await transactOrThrow(store, consume(count));
    await store.checkpoint();
    expect(store.health().checkpointError).toBeNull();
    await verifyFolder(copyFolder(folder));
  }
}

/** All of the audit log as it would be taken away, checked by itself. */
function exported({ store }: OpenSite) {
  const path = join(tempFolder(), "record.jsonl");
  writeFileSync(
    path,
    Buffer.concat([...readForward(store.auditLogSource(), { since: null, until: null })]),
  );
  return checkAuditExport(realDisk, path);
}

describe("a repair that loses nothing", () => {
  test("finds nothing to do in an audit log that is whole, and changes nothing", async () => {
    const { audit, folder } = await lived();
    const before = readdirSync(join(folder, "history"));
    expect(unwrap(await audit.repair(null))).toEqual({
      missing: [],
      recovered: 0,
      written: [],
      kept: [],
      declared: [],
    });
    expect(readdirSync(join(folder, "history"))).toEqual(before);
  });

  for (const [what, damage] of Object.entries<(path: string) => void>({
    "a changed byte": (path) => spoil(path, 1),
    "a changed first line": (path) => flipBit(path, 5),
    "a missing end": (path) => truncateSync(path, statSync(path).size - 9),
    "nothing in it": (path) => truncateSync(path),
  })) {
    test(`brings back the newest file from the journal, with ${what}`, async () => {
      const site = await lived();
      const path = join(site.folder, JUNE);
      const before = readFileSync(path);
      damage(path);
      await catchRefusal(verifyFolder(copyFolder(site.folder)));
      const { missing, recovered, written, declared } = unwrap(await site.audit.repair(null));
      expect([missing, declared, written]).toEqual([[], [], ["2026-06.jsonl"]]);
      expect(recovered).toBeGreaterThan(0);
      expect(readFileSync(path)).toEqual(before);
      await verifyFolder(copyFolder(site.folder));
      await goesOn(site);
    });
  }

  test("brings back the newest file from the journal when it is gone", async () => {
    const site = await lived();
    const path = join(site.folder, JUNE);
    const before = readFileSync(path);
    rmSync(path);
    expect(unwrap(await site.audit.repair(null))).toMatchObject({ missing: [], recovered: 2 });
    expect(readFileSync(path)).toEqual(before);
    await goesOn(site);
  });

  test("puts lines back in order, and keeps what was there under another name", async () => {
    const site = await lived();
    const path = join(site.folder, APRIL);
    const before = readFileSync(path);
    const [first, second] = readLines(path).map(({ raw }) => Buffer.from(raw));
    editFile(path, () => Buffer.concat([second ?? "", first ?? ""].map((raw) => Buffer.from(raw))));
    const swapped = readFileSync(path);
    expect(unwrap(await site.audit.repair(null))).toMatchObject({
      missing: [],
      written: ["2026-04.jsonl"],
      kept: ["2026-04.jsonl.damaged"],
    });
    expect(readFileSync(path)).toEqual(before);
    expect(readFileSync(`${path}.damaged`)).toEqual(swapped);
    await verifyFolder(copyFolder(site.folder));
  });

  test("takes a line out that stands there twice", async () => {
    const site = await lived();
    const path = join(site.folder, APRIL);
    const before = readFileSync(path);
    editFile(path, (bytes) => Buffer.concat([bytes, readLines(path)[0]?.raw ?? Buffer.alloc(0)]));
    expect(unwrap(await site.audit.repair(null))).toMatchObject({ missing: [], recovered: 0 });
    expect(readFileSync(path)).toEqual(before);
  });
});

describe("a repair of what is gone for good", () => {
  test("changes nothing unless somebody accepts the gap, and says what is missing", async () => {
    const { folder, audit } = await lived();
    spoil(join(folder, APRIL), 0);
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

  test("declares exactly the damaged line, and everything goes on", async () => {
    const site = await lived();
    const { folder, store, audit } = site;
    const path = join(folder, APRIL);
    const whole = readFileSync(path);
    spoil(path, 0);
    const damaged = readFileSync(path);
    const { declared, kept } = unwrap(await audit.repair(BY));
    expect(kept).toEqual(["2026-04.jsonl.damaged"]);
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
    const found = await verifyFolder(copyFolder(folder));
    expect(found.auditLog).toMatchObject({ from: 1, lines: found.auditLog.to - 1 });
    expect(found.auditGaps).toEqual([...declared]);
    // The line that is left is the one that was written.
    expect(whole.includes(readFileSync(path))).toBe(true);
    await goesOn(site);
    expect(exported(site)).toMatchObject({ first: 1, last: store.health().auditSeq });
    expect(exported(site).gaps).toEqual([...declared]);
    expect(store.condition().warnings.map(({ code }) => code)).toEqual([]);
  });

  test("covers a month whose file is gone, and readers pass over it", async () => {
    const site = await lived();
    const { folder, store, audit } = site;
    rmSync(join(folder, APRIL));
    const { declared } = unwrap(await audit.repair(BY));
    expect(declared).toMatchObject([{ from: 5, to: 6, files: [] }]);
    expect((await verifyFolder(copyFolder(folder))).auditLog.files).toBe(3);
    // What was in use before a gap cannot be told from what is left.
    const read = await Array.fromAsync(readLinesNewestFirst(store.auditLogSource()));
    expect(read.at(-1)?.audit_seq).toBe(7);
    expect(exported(site).gaps).toMatchObject([{ from: 5, to: 6 }]);
    await goesOn(site);
  });

  test("goes on in a new file when the newest one lost its first line for good", async () => {
    const site = await lived();
    await goesOn(site);
    await goesOn(site);
    const path = join(site.folder, JUNE);
    flipBit(path, 5);
    const { declared } = unwrap(await site.audit.repair(BY));
    expect(declared).toMatchObject([{ from: 9, to: 9, files: [{ name: "2026-06.jsonl" }] }]);
    const before = readFileSync(path);
    await goesOn(site);
    expect(readFileSync(path)).toEqual(before);
    expect(listAuditMonths(site.folder)).toContain("06-15");
  });

  test("is part of every backup and of what a restore makes of it", async () => {
    const site = await lived();
    spoil(join(site.folder, APRIL), 1);
    const { declared } = unwrap(await site.audit.repair(BY));
    const folder = join(tempFolder(), "data");
    await restoreTo(folder, await backUpFolder(site.folder));
    expect((await verifyFolder(folder)).auditGaps).toEqual([...declared]);
  });

  test("is known to an older state that is gone back to", async () => {
    const site = await lived();
    spoil(join(site.folder, APRIL), 1);
    unwrap(await site.audit.repair(BY));
    const folder = copyFolder(site.folder);
    truncateSync(join(folder, "state.json"));
    const { hint } = await catchRefusal(verifyFolder(folder));
    expect(Bun.spawnSync(["sh", "-c", hint]).exitCode).toBe(0);
    expect((await verifyFolder(folder)).auditGaps).toMatchObject([{ from: 6, to: 6 }]);
  });

  test("declares no more than 64 gaps when the damage is in very many places", async () => {
    const site = await openSiteWithKey();
    site.clock.now = utc("2026-04-15T00:00:00Z");
    for (let count = 1; count <= 400; count += 1) await transactOrThrow(site.store, consume(count));
    await site.store.checkpoint();
    await writeMonths(site, "05", "06", "07");
    const path = join(site.folder, APRIL);
    const lines = readLines(path).filter((_line, place) => place % 2 === 1);
    for (const { offset, raw } of lines) flipBit(path, offset + raw.length - 9);
    const audit = new AuditMaintenance(site.store);
    const { declared } = unwrap(await audit.repair(BY));
    expect(declared.length).toBe(64);
    expect((await verifyFolder(copyFolder(site.folder))).auditGaps.length).toBe(64);
    await goesOn(site);
  });
});

describe("sealing a month", () => {
  test("lets its lines go and keeps their sum in the chain", async () => {
    const site = await lived();
    const { folder, store, audit } = site;
    const path = join(folder, APRIL);
    const bytes = readFileSync(path);
    const lines = readLines(path).map(({ line }) => line);
    const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    const { gaps, removed, freedBytes } = unwrap(await audit.seal("2026-04", BY));
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
    expect(exported(site).gaps).toEqual([...gaps]);
    await goesOn(site);
    const declaring = store.peek(({ auditGaps }) => auditGaps);
    expect(declaring).toEqual([...gaps]);
  });

  test("of the current month folds first, and new lines go to a new file", async () => {
    const site = await lived();
    const { folder, store, audit } = site;
    await transactOrThrow(store, consume(3));
    const { gaps } = unwrap(await audit.seal("2026-06", BY));
    expect(gaps).toMatchObject([{ from: 9, to: 11 }]);
    expect(listAuditMonths(folder)).toEqual(["03", "04", "05", "06-12"]);
    await verifyFolder(copyFolder(folder));
    await goesOn(site);
    expect(listAuditMonths(folder)).toEqual(["03", "04", "05", "06-12"]);
  });

  test("of the first month leaves an audit log that begins later", async () => {
    const site = await lived();
    unwrap(await site.audit.seal("2026-03", BY));
    expect((await verifyFolder(copyFolder(site.folder))).auditGaps).toMatchObject([
      { from: 1, to: 4 },
    ]);
    expect(exported(site)).toMatchObject({ first: 5, gaps: [] });
    await goesOn(site);
  });

  test("is refused for a month without lines, one that is sealed, and one that is damaged", async () => {
    const { folder, audit } = await lived();
    expect(await audit.seal("2026-01", BY)).toEqual({
      ok: false,
      fault: { code: "audit_month_empty" },
    });
    unwrap(await audit.seal("2026-04", BY));
    expect(await audit.seal("2026-04", BY)).toEqual({
      ok: false,
      fault: { code: "audit_month_sealed" },
    });
    spoil(join(folder, "history/2026-05.jsonl"), 1);
    expect(await audit.seal("2026-05", BY)).toEqual({
      ok: false,
      fault: { code: "audit_month_damaged", file: "2026-05.jsonl" },
    });
    expect(listAuditMonths(folder)).toContain("05");
  });

  test("is refused when what is beside the month does not continue it", async () => {
    const { folder, audit } = await lived();
    flipBit(join(folder, "history/2026-05.jsonl"), 5);
    expect(await audit.seal("2026-04", BY)).toMatchObject({
      fault: { code: "audit_month_damaged", file: "2026-04.jsonl" },
    });
    spoil(join(folder, MARCH), 3);
    expect(await audit.seal("2026-04", BY)).toMatchObject({
      fault: { code: "audit_month_damaged", file: "2026-04.jsonl" },
    });
  });

  test("takes a gap that was declared in it along", async () => {
    const site = await lived();
    spoil(join(site.folder, APRIL), 0);
    unwrap(await site.audit.repair(BY));
    const { gaps } = unwrap(await site.audit.seal("2026-04", BY));
    expect(gaps).toMatchObject([{ reason: "sealed", from: 6, to: 6 }]);
    await verifyFolder(copyFolder(site.folder));
    await goesOn(site);
  });

  test("declares gaps again whose declaration goes with it, so that an export shows them", async () => {
    const site = await lived();
    unwrap(await site.audit.seal("2026-04", BY));
    // Said in June, which goes as well.
    unwrap(await site.audit.seal("2026-06", BY));
    await verifyFolder(copyFolder(site.folder));
    expect(exported(site).gaps).toMatchObject([
      { from: 5, to: 6 },
      { from: 9, to: 11 },
    ]);
  });

  test("of every month in turn leaves a chain that verifies and goes on", async () => {
    const site = await lived();
    for (const month of ["05", "03", "06", "04"]) {
      unwrap(await site.audit.seal(`2026-${month}`, BY));
      await verifyFolder(copyFolder(site.folder));
      exported(site);
    }
    await goesOn(site);
  });

  test("is known to an older state that is gone back to, which goes on from there", async () => {
    const site = await lived();
    unwrap(await site.audit.seal("2026-06", BY));
    const folder = copyFolder(site.folder);
    truncateSync(join(folder, "state.json"));
    const { hint } = await catchRefusal(verifyFolder(folder));
    expect(Bun.spawnSync(["sh", "-c", hint]).exitCode).toBe(0);
    expect((await verifyFolder(folder)).auditGaps).toMatchObject([{ from: 9, to: 10 }]);
    await goesOn(await openSite({ folder }));
  });

  test("is forgotten when all before it is let go as well", async () => {
    const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(1) });
    await writeMonths(site, "03", "04");
    const audit = new AuditMaintenance(site.store);
    unwrap(await audit.seal("2026-03", BY));
    await writeMonths(site, "05", "06", "07");
    expect((await verifyFolder(copyFolder(site.folder))).auditGaps).toEqual([]);
    expect((await new StateFile(realDisk, site.folder).read())?.auditGaps).toEqual([]);
  });
});

describe("a checkpoint that cannot continue the audit log", () => {
  test("leaves the server serving, with a warning that names the file and the command", async () => {
    const site = await lived();
    const { folder, store, audit } = site;
    await writeMonths(site, "06", "06");
    rmSync(join(folder, JUNE));
    await transactOrThrow(store, consume(1));
    await store.checkpoint();
    const { warnings } = store.condition();
    expect(warnings.map(({ code }) => code)).toEqual(["checkpoint_failing", "audit_damaged"]);
    expect(warnings[1]?.message).toContain(join(folder, JUNE));
    expect(warnings[1]?.message).toContain("berth audit repair");
    await transactOrThrow(store, consume(2));
    unwrap(await audit.repair(BY));
    expect(store.condition().warnings).toEqual([]);
    await goesOn(site);
  });

  test("is over when the file is put back", async () => {
    const site = await lived();
    const { folder, store } = site;
    await writeMonths(site, "06", "06");
    const bytes = readFileSync(join(folder, JUNE));
    rmSync(join(folder, JUNE));
    await transactOrThrow(store, consume(1));
    await store.checkpoint();
    expect(store.condition().warnings).toHaveLength(2);
    writeFileSync(join(folder, JUNE), bytes);
    await goesOn(site);
    expect(store.condition().warnings).toEqual([]);
  });
});
