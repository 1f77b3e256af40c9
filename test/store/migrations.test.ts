import { describe, expect, test } from "bun:test";
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Identity } from "../../src/operations/identity.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { GENESIS, sha256 } from "../../src/platform/hash.ts";
import { makeBackup } from "../../src/store/backup.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import { migrate } from "../../src/store/migrations.ts";
import { restoreBackup } from "../../src/store/restore.ts";
import { STATE_FORMAT } from "../../src/store/snapshot.ts";
import { StateFile } from "../../src/store/state-file.ts";
import { verify, type VerifyOptions } from "../../src/store/verify.ts";
import { newBackupPath, catchRefusal, readFolderState } from "../support/backup-site.ts";
import { failCallAt, FaultyDisk } from "../support/faulty-disk.ts";
import {
  openSite,
  catchFolderRefusal,
  listSegmentNames,
  openAndCloseFolder,
  readState,
} from "../support/licensed-store.ts";
import {
  readExpectedContents,
  listFixtureFormats,
  copyFixtureFolder,
  type ExpectedContents,
} from "../support/old-formats.ts";
import { contentsOf, copyFolder, tempFolder } from "../support/temp-folder.ts";

/** The oldest format with signed licenses; what is older is not read. */
const OLDEST = 2;

/** The real check: the key in the folder was made by the version that wrote it. */
const identity: VerifyOptions["identity"] = (disk, folder, appliance) =>
  new Identity(disk, folder, []).open(appliance);

const formatOf = (folder: string, name = "state.json"): number =>
  Number(/^\{\n"format":(\d+),/.exec(readFileSync(join(folder, name), "utf8"))?.[1]);

type Old = ExpectedContents["state"];

/** What a state of each format had no word for, and the one after it has. */
const SINCE: Readonly<Record<number, (old: Old) => object>> = {
  2: () => ({ restores: [] }),
  3: ({ licenses = [] }) => ({
    retired: null,
    licenses: licenses.map(([id, license]) => [id, { ...(license as object), movedAt: null }]),
  }),
  4: ({ idempotencyRecords = [] }) => ({
    jumps: [],
    auditGaps: [],
    lapsed: [],
    remembered: idempotencyRecords.map(([key, done]) => [key, { ...done, peer: null }]),
  }),
};

/**
 * Fields that format 5 added inside of rows. What an older journal says of them is not in what was
 * kept of its time, so they are left out of that comparison; what a migration makes of them is
 * tested below.
 */
const WITHIN_ROWS: ReadonlySet<string> = new Set([
  "setAt",
  "borrowedAt",
  "leasedTo",
  "contactAuditedAt",
  "isContactUnaudited",
  "timeoutAt",
  "counted",
]);

const comparable = (state: object): object =>
  JSON.parse(
    JSON.stringify(state, (key, value: unknown) => (WITHIN_ROWS.has(key) ? undefined : value)),
  ) as object;

function expectedToday(format: number): object {
  const { state } = readExpectedContents(format);
  for (const [of, more] of Object.entries(SINCE)) {
    if (Number(of) >= format) Object.assign(state, more(state));
  }
  return state;
}

test("every format before this one is kept as a folder of its time, and can be read", () => {
  // Whoever raises the format keeps a folder that the version before wrote, with `expected.json`.
  const formats = Array.from({ length: STATE_FORMAT - OLDEST }, (_, place) => OLDEST + place);
  expect(listFixtureFormats()).toEqual(formats);
  for (const format of formats) {
    const folder = copyFixtureFolder(format);
    expect([format, formatOf(folder)]).toEqual([format, format]);
    expect(() => migrate({ format })).not.toThrow();
  }
  expect(() => migrate({ format: OLDEST - 1 })).toThrow();
});

for (const format of listFixtureFormats()) {
  describe(`a folder of format ${format}`, () => {
    const { seq, audit_seq } = readExpectedContents(format);

    test("holds what it held, and is not changed by being looked at", async () => {
      const folder = copyFixtureFolder(format);
      const before = contentsOf(folder);
      expect(comparable(await readFolderState(folder))).toEqual({
        seq,
        state: expectedToday(format),
      });
      const found = await verify(realDisk, folder, { identity });
      expect(found.head).toMatchObject({ seq, auditSeq: audit_seq });
      expect(found.auditLog.from).toBe(1);
      expect(found.generations.length).toBe(1);
      expect(contentsOf(folder)).toEqual(before);
    });

    test("starts as it did, and a checkpoint writes it as it is written today", async () => {
      const folder = copyFixtureFolder(format);
      expect(comparable(await openAndCloseFolder(folder, { create: false }))).toEqual({
        state: expectedToday(format),
        seq,
        notes: [],
      });
      expect(formatOf(folder)).toBe(format);
      const { store, stop } = await openSite({ folder, migrateOnOpen: true });
      const state = await readState(store);
      await stop();
      expect(store.health().checkpointError).toBeNull();
      expect(formatOf(folder)).toBe(STATE_FORMAT);
      // The one before stays as it was written: that version could still go back to it.
      const kept = /"covers":\{"seq":(\d+)/.exec(
        readFileSync(join(copyFixtureFolder(format), "state.json"), "utf8"),
      );
      expect(formatOf(folder, `state-${kept?.[1]}.json`)).toBe(format);
      expect((await readFolderState(folder)).state).toEqual(state);
      const found = await verify(realDisk, folder, { identity });
      expect(found).toMatchObject({
        covers: seq,
        generations: [Number(kept?.[1])],
        record: { from: 1, lines: audit_seq },
      });
    });

    test("stays readable whatever call its first checkpoint fails at", async () => {
      const before = copyFixtureFolder(format);
      const open = seq + 1;
      writeFileSync(join(before, `journal-${open}.jsonl`), "", { mode: 0o600 });
      const { state } = await readFolderState(before);
      let failed = 0;
      for (let place = 1; ; place += 1) {
        const folder = copyFolder(before);
        const disk = new FaultyDisk();
        disk.hasRealSync = false;
        failCallAt(disk, place, "EIO");
        const made = await checkpoint(disk, folder, open).then(
          () => true,
          () => false,
        );
        expect([place, await readFolderState(folder)]).toEqual([place, { state, seq }]);
        expect([format, STATE_FORMAT]).toContain(formatOf(folder));
        await verify(realDisk, folder, { identity });
        await checkpoint(realDisk, folder, open);
        expect([place, formatOf(folder), (await readFolderState(folder)).state]).toEqual([
          place,
          STATE_FORMAT,
          state,
        ]);
        if (made && disk.calls.length < place) break;
        failed += 1;
      }
      expect(failed).toBeGreaterThan(15);
    });

    test("can be gone back to", async () => {
      const folder = copyFixtureFolder(format);
      await (await openSite({ folder, migrateOnOpen: true })).stop();
      const { state } = await readFolderState(folder);
      writeFileSync(join(folder, "state.json"), "");
      const { hint } = await catchRefusal(readFolderState(folder));
      expect(Bun.spawnSync(["sh", "-c", hint]).exitCode).toBe(0);
      expect(formatOf(folder)).toBe(format);
      expect((await readFolderState(folder)).state).toEqual(state);
    });

    test("goes into a backup and comes out of it", async () => {
      const folder = copyFixtureFolder(format);
      const { state } = await readFolderState(folder);
      const out = newBackupPath();
      await makeBackup(realDisk, folder, out, state.latestEventAt, { identity });
      const fresh = join(tempFolder(), "data");
      const { lineage } = await restoreBackup({
        disk: realDisk,
        folder: fresh,
        file: out,
        acceptLoss: false,
        now: state.latestEventAt,
        uid: process.getuid?.() ?? 0,
        identity,
      });
      const restore = { lineage, at: state.latestEventAt, seq, replaced: null };
      expect((await openAndCloseFolder(fresh)).state).toEqual({
        ...state,
        restores: [...state.restores, restore],
      });
      expect(listSegmentNames(fresh)).toEqual(listSegmentNames(folder).slice(-1));
    });
  });
}

/** The same state with another format, and the checksum that belongs to it. */
function reformatted(folder: string, format: string): void {
  const path = join(folder, "state.json");
  const text = readFileSync(path, "utf8").replace(/"format":\d+/, `"format":${format}`);
  const content = text.slice(0, text.lastIndexOf('"sum":"'));
  writeFileSync(path, `${content}"sum":"${sha256(content)}"\n}\n`);
}

describe("a format nobody here knows is refused in one line, and nothing is changed", () => {
  const OLD = "its licenses are not signed: start with a new folder, --data DIR";
  const NEW = "start the version of berth that wrote it, or a newer one";
  const known = `this version of berth reads formats ${OLDEST} to ${STATE_FORMAT}`;
  const unknown: Record<string, [message: string, hint: string]> = {
    "-1": [`has format -1, from before licenses were signed; ${known}`, OLD],
    "0": [`has format 0, from before licenses were signed; ${known}`, OLD],
    "1": [`has format 1, from before licenses were signed; ${known}`, OLD],
    [`${STATE_FORMAT + 1}`]: [`has format ${STATE_FORMAT + 1}; ${known}`, NEW],
    "1000000": [`has format 1000000; ${known}`, NEW],
  };
  for (const [format, [message, hint]] of Object.entries(unknown)) {
    test(`format ${format}`, async () => {
      const folder = copyFixtureFolder(OLDEST);
      reformatted(folder, format);
      const before = contentsOf(folder);
      const path = join(folder, "state.json");
      for (const attempt of [readFolderState(folder), verify(realDisk, folder, { identity })]) {
        expect(await catchRefusal(attempt)).toEqual({
          name: "FolderRefused",
          message: `${path} ${message}`,
          hint,
        });
      }
      const out = newBackupPath();
      const making = makeBackup(realDisk, folder, out, 0 as never, { identity });
      expect((await catchRefusal(making)).message).toBe(`${path} ${message}`);
      expect(contentsOf(folder)).toEqual(before);
      expect((await catchFolderRefusal(folder)).message).toBe(`${path} ${message}`);
      for (const [name, content] of Object.entries(before)) {
        expect(contentsOf(folder)[name]).toBe(content);
      }
    });
  }

  for (const format of ["null", '"3"', "2.5", "[3]", "{}", "true", "1e400"]) {
    test(`format ${format}, which is none`, async () => {
      const folder = copyFixtureFolder(OLDEST);
      reformatted(folder, format);
      const before = contentsOf(folder);
      const { message, hint } = await catchRefusal(readFolderState(folder));
      expect(message).toBe(`${join(folder, "state.json")} does not have the shape of a state`);
      expect(hint).toStartWith("cp -p ");
      expect(contentsOf(folder)).toEqual(before);
    });
  }

  test("a kept generation of such a format is not offered to go back to", async () => {
    const folder = copyFixtureFolder(OLDEST);
    copyFileSync(join(folder, "state.json"), join(folder, "state-17.json"));
    reformatted(folder, `${STATE_FORMAT + 1}`);
    copyFileSync(join(folder, "state.json"), join(folder, "state-0.json"));
    rmSync(join(folder, "state-17.json"));
    writeFileSync(join(folder, "state.json"), "");
    expect((await catchRefusal(readFolderState(folder))).hint).toStartWith(
      "this folder has no usable older state",
    );
  });
});

describe("a migration", () => {
  test("adds what the format of then had no word for, and takes nothing away", () => {
    const audit = { seq: 7, sum: "s", file: null, length: 0 };
    const counter = { total: 4, resetAt: null };
    const held = { user: "ada", registeredAt: 3, end: 9 };
    const old = {
      format: 2,
      other: [1],
      audit,
      lentDated: false,
      licenses: [{ id: 5, counter }],
      features: [{ license: 5, counter }],
      registrations: [
        { ...held, borrowedUntil: null },
        { ...held, borrowedUntil: 9 },
      ],
      featureRegistrations: [held],
    };
    const before = structuredClone(old);
    const fresh = { leasedTo: null, contactAuditedAt: null, isContactUnaudited: false };
    expect(migrate(old)).toEqual({
      format: STATE_FORMAT,
      other: [1],
      audit: { ...old.audit, anchor: { seq: 0, sum: GENESIS } },
      restores: [],
      retired: null,
      lentDated: false,
      jumps: [],
      auditGaps: [],
      lapsed: [],
      licenses: [{ id: 5, movedAt: null, counter: { ...counter, counted: 4 } }],
      features: [{ license: 5, counter: { ...counter, counted: 4 } }],
      registrations: [
        { ...held, setAt: 3, borrowedUntil: null, borrowedAt: null, ...fresh },
        { ...held, setAt: 3, borrowedUntil: 9, borrowedAt: 3, ...fresh },
      ],
      featureRegistrations: [{ ...held, setAt: 3, timeoutAt: 9 }],
    });
    expect(old).toEqual(before);
  });

  test("counts a license that can be borrowed from as lent by date", () => {
    const rows = { features: [], registrations: [], featureRegistrations: [] };
    const counter = { total: 0, resetAt: null };
    for (const [borrowHours, lentDated] of [
      [24, true],
      [0, false],
      [null, false],
    ] as const) {
      const licenses = [{ id: 5, counter, terms: { borrowHours } }];
      const old = { format: 4, lentDated: false, ...rows, licenses };
      expect(migrate(old)).toMatchObject({ lentDated });
    }
  });

  test("leaves a state of today alone, and what is no state too", () => {
    for (const data of [{ format: STATE_FORMAT, x: 1 }, null, 7, "x", [], {}, { format: "2" }]) {
      expect(migrate(data)).toBe(data);
    }
  });

  test("does not make a state of something that was none", async () => {
    const folder = tempFolder();
    const content = '{\n"format":2,\n';
    writeFileSync(join(folder, "state.json"), `${content}"sum":"${sha256(content)}"\n}\n`);
    expect(new StateFile(realDisk, folder).read()).rejects.toThrow("does not have the shape");
  });
});
