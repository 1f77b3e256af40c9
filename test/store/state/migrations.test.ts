import { describe, expect, test } from "bun:test";
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { refusalKey } from "../../../src/domain/model/demand/refusal-total.ts";
import { MINUTE } from "../../../src/domain/time.ts";
import { Identity } from "../../../src/operations/identity.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { GENESIS, sha256 } from "../../../src/platform/crypto/hash.ts";
import { makeBackup } from "../../../src/operations/folder/backup.ts";
import { checkpoint } from "../../../src/store/checkpoint/checkpoint.ts";
import { migrate } from "../../../src/store/state/migrations.ts";
import { restoreBackup } from "../../../src/operations/folder/restore.ts";
import { STATE_FORMAT } from "../../../src/store/state/snapshot.ts";
import { StateFile } from "../../../src/store/state/state-file.ts";
import { verify, type VerifyOptions } from "../../../src/operations/folder/verify.ts";
import { newBackupPath, catchRefusal, readFolderState } from "../../support/backup-site.ts";
import { failCallAt, FaultyDisk } from "../../support/faulty-disk.ts";
import {
  openSite,
  catchFolderRefusal,
  listSegmentNames,
  openAndCloseFolder,
  readState,
} from "../../support/licensed-store.ts";
import {
  readExpectedContents,
  listFixtureFormats,
  copyFixtureFolder,
  type ExpectedContents,
} from "../../support/old-formats.ts";
import { contentsOf, copyFolder, tempFolder } from "../../support/temp-folder.ts";

/** The oldest format with signed licenses; older formats cannot be read. */
const OLDEST_FORMAT = 2;

/** The real check, because the key in the folder is from the version that wrote it. */
const identity: VerifyOptions["identity"] = (disk, folder, appliance) =>
  new Identity(disk, folder, []).open(appliance);

const formatOf = (folder: string, name = "state.json"): number =>
  Number(/^\{\n"format":(\d+),/.exec(readFileSync(join(folder, name), "utf8"))?.[1]);

type Old = ExpectedContents["state"];

/** For each format, the fields that the next format added. */
const ADDED_FIELDS: Readonly<Record<number, (old: Old) => object>> = {
  2: () => ({ restores: [] }),
  3: ({ licenses = [] }) => ({
    retirement: null,
    licenses: licenses.map(([id, license]) => [id, { ...(license as object), movedAt: null }]),
  }),
  4: ({ idempotencyRecords = [], refusals = [] }) => ({
    clockJumps: [],
    auditGaps: [],
    lapsedBorrows: [],
    cancelledRequests: [],
    openEpisodes: [],
    endedEpisodes: [],
    queues: [],
    recalls: [],
    pair: null,
    endedPair: null,
    rules: null,
    statementChains: [],
    refusals: refusals.map(([, total]) => [
      refusalKey({ ...total, feature: null }),
      { ...total, feature: null },
    ]),
    idempotencyRecords: idempotencyRecords.map(([key, done]) => [key, { ...done, peer: null }]),
  }),
};

/**
 * Fields that format 5 added inside rows. The expected contents of older formats do not have them,
 * so that comparison leaves them out. The values that a migration gives them are tested below.
 */
const FIELDS_ADDED_IN_ROWS: ReadonlySet<string> = new Set([
  "setAt",
  "lastSeenAt",
  "borrowedAt",
  "leasedTo",
  "contactAuditedAt",
  "isContactUnaudited",
  "timeoutAt",
  "counted",
  "takenFrom",
  "identity",
]);

const withoutAddedRowFields = (state: object): object =>
  JSON.parse(
    JSON.stringify(state, (key, value: unknown) =>
      FIELDS_ADDED_IN_ROWS.has(key) ? undefined : value,
    ),
  ) as object;

function expectedState(format: number): object {
  const { state } = readExpectedContents(format);
  for (const [of, more] of Object.entries(ADDED_FIELDS)) {
    if (Number(of) >= format) Object.assign(state, more(state));
  }
  return state;
}

test("every older format has a fixture folder and can be migrated", () => {
  // To raise the format, add a folder that the version before wrote, with `expected.json`.
  const formats = Array.from(
    { length: STATE_FORMAT - OLDEST_FORMAT },
    (_, index) => OLDEST_FORMAT + index,
  );
  expect(listFixtureFormats()).toEqual(formats);
  for (const format of formats) {
    const folder = copyFixtureFolder(format);
    expect([format, formatOf(folder)]).toEqual([format, format]);
    expect(() => migrate({ format })).not.toThrow();
  }
  expect(() => migrate({ format: OLDEST_FORMAT - 1 })).toThrow();
});

for (const format of listFixtureFormats()) {
  describe(`data folder of format ${format}`, () => {
    const { seq, audit_seq } = readExpectedContents(format);

    test("has the expected contents and is not changed by reading and verifying it", async () => {
      const folder = copyFixtureFolder(format);
      const before = contentsOf(folder);
      expect(withoutAddedRowFields(await readFolderState(folder))).toEqual({
        seq,
        state: expectedState(format),
      });
      const report = await verify(realDisk, folder, { identity });
      expect(report.head).toMatchObject({ seq, auditSeq: audit_seq });
      expect(report.auditLog.from).toBe(1);
      expect(report.generations.length).toBe(1);
      expect(contentsOf(folder)).toEqual(before);
    });

    test("has slots with the contact they were taken from, and without a login", async () => {
      const { store, stop } = await openSite({ folder: copyFixtureFolder(format) });
      const registrations = store.peek((state) =>
        [...state.licenses.values()].flatMap(({ pool }) => [...pool.inSlotOrder()]),
      );
      expect(registrations).not.toEqual([]);
      for (const { contact, takenFrom, identity: caller } of registrations)
        expect([Object.keys(takenFrom), caller]).toEqual([Object.keys(contact), null]);
      await stop();
    });

    test("opens with the expected contents, and a checkpoint writes the current format", async () => {
      const folder = copyFixtureFolder(format);
      expect(withoutAddedRowFields(await openAndCloseFolder(folder, { create: false }))).toEqual({
        state: expectedState(format),
        seq,
        notes: [],
      });
      expect(formatOf(folder)).toBe(format);
      const { store, stop } = await openSite({ folder, migrateOnOpen: true });
      const state = await readState(store);
      await stop();
      expect(store.status().checkpointError).toBeNull();
      expect(formatOf(folder)).toBe(STATE_FORMAT);
      // The older state stays in its format, so that the older version can still go back to it.
      const coveredMatch = /"covers":\{"seq":(\d+)/.exec(
        readFileSync(join(copyFixtureFolder(format), "state.json"), "utf8"),
      );
      expect(formatOf(folder, `state-${coveredMatch?.[1]}.json`)).toBe(format);
      expect((await readFolderState(folder)).state).toEqual(state);
      const report = await verify(realDisk, folder, { identity });
      expect(report).toMatchObject({
        coveredSeq: seq,
        generations: [Number(coveredMatch?.[1])],
        auditLog: { from: 1, lines: audit_seq },
      });
    });

    test("stays readable when its first checkpoint fails at any disk call", async () => {
      const before = copyFixtureFolder(format);
      const open = seq + 1;
      writeFileSync(join(before, `journal-${open}.jsonl`), "", { mode: 0o600 });
      const { state } = await readFolderState(before);
      let failureCount = 0;
      for (let callNumber = 1; ; callNumber += 1) {
        const folder = copyFolder(before);
        const disk = new FaultyDisk();
        disk.hasRealSync = false;
        failCallAt(disk, callNumber, "EIO");
        const hasSucceeded = await checkpoint(disk, folder, open).then(
          () => true,
          () => false,
        );
        expect([callNumber, await readFolderState(folder)]).toEqual([callNumber, { state, seq }]);
        expect([format, STATE_FORMAT]).toContain(formatOf(folder));
        await verify(realDisk, folder, { identity });
        await checkpoint(realDisk, folder, open);
        expect([callNumber, formatOf(folder), (await readFolderState(folder)).state]).toEqual([
          callNumber,
          STATE_FORMAT,
          state,
        ]);
        if (hasSucceeded && disk.calls.length < callNumber) break;
        failureCount += 1;
      }
      expect(failureCount).toBeGreaterThan(15);
    });

    test("can be restored from its older state after the migration", async () => {
      const folder = copyFixtureFolder(format);
      await (await openSite({ folder, migrateOnOpen: true })).stop();
      const { state } = await readFolderState(folder);
      writeFileSync(join(folder, "state.json"), "");
      const { hint } = await catchRefusal(readFolderState(folder));
      expect(Bun.spawnSync(["sh", "-c", hint]).exitCode).toBe(0);
      expect(formatOf(folder)).toBe(format);
      expect((await readFolderState(folder)).state).toEqual(state);
    });

    test("can be backed up and restored", async () => {
      const folder = copyFixtureFolder(format);
      const { state } = await readFolderState(folder);
      const out = newBackupPath();
      await makeBackup(realDisk, folder, out, state.latestEventAt, { identity });
      const newFolder = join(tempFolder(), "data");
      const { lineage } = await restoreBackup({
        disk: realDisk,
        folder: newFolder,
        file: out,
        acceptLoss: false,
        now: state.latestEventAt,
        uid: process.getuid?.() ?? 0,
        identity,
      });
      const restore = { lineage, at: state.latestEventAt, seq, replaced: null };
      expect((await openAndCloseFolder(newFolder)).state).toEqual({
        ...state,
        restores: [...state.restores, restore],
      });
      expect(listSegmentNames(newFolder)).toEqual(listSegmentNames(folder).slice(-1));
    });
  });
}

/** Writes another format number into the state, with a matching checksum. */
function writeFormat(folder: string, format: string): void {
  const path = join(folder, "state.json");
  const text = readFileSync(path, "utf8").replace(/"format":\d+/, `"format":${format}`);
  const content = text.slice(0, text.lastIndexOf('"sum":"'));
  writeFileSync(path, `${content}"sum":"${sha256(content)}"\n}\n`);
}

describe("unknown state format", () => {
  const OLD = "its licenses are not signed: start with a new folder, --data DIR";
  const NEW = "start the version of berth that wrote it, or a newer one";
  const readableFormats = `this version of berth reads formats ${OLDEST_FORMAT} to ${STATE_FORMAT}`;
  const unknownFormats: Record<string, [message: string, hint: string]> = {
    "-1": [`has format -1, from before licenses were signed; ${readableFormats}`, OLD],
    "0": [`has format 0, from before licenses were signed; ${readableFormats}`, OLD],
    "1": [`has format 1, from before licenses were signed; ${readableFormats}`, OLD],
    [`${STATE_FORMAT + 1}`]: [`has format ${STATE_FORMAT + 1}; ${readableFormats}`, NEW],
    "1000000": [`has format 1000000; ${readableFormats}`, NEW],
  };
  for (const [format, [message, hint]] of Object.entries(unknownFormats)) {
    test(`${format} is refused in one line, and the folder is not changed`, async () => {
      const folder = copyFixtureFolder(OLDEST_FORMAT);
      writeFormat(folder, format);
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
      const attempt = makeBackup(realDisk, folder, out, 0 as never, { identity });
      expect((await catchRefusal(attempt)).message).toBe(`${path} ${message}`);
      expect(contentsOf(folder)).toEqual(before);
      expect((await catchFolderRefusal(folder)).message).toBe(`${path} ${message}`);
      for (const [name, content] of Object.entries(before)) {
        expect(contentsOf(folder)[name]).toBe(content);
      }
    });
  }

  for (const format of ["null", '"3"', "2.5", "[3]", "{}", "true", "1e400"]) {
    test(`${format}, which is no format number, is refused as a damaged state`, async () => {
      const folder = copyFixtureFolder(OLDEST_FORMAT);
      writeFormat(folder, format);
      const before = contentsOf(folder);
      const { message, hint } = await catchRefusal(readFolderState(folder));
      expect(message).toBe(`${join(folder, "state.json")} does not have the shape of a state`);
      expect(hint).toStartWith("cp -p ");
      expect(contentsOf(folder)).toEqual(before);
    });
  }

  test("of an older state prevents a hint to go back to it", async () => {
    const folder = copyFixtureFolder(OLDEST_FORMAT);
    copyFileSync(join(folder, "state.json"), join(folder, "state-17.json"));
    writeFormat(folder, `${STATE_FORMAT + 1}`);
    copyFileSync(join(folder, "state.json"), join(folder, "state-0.json"));
    rmSync(join(folder, "state-17.json"));
    writeFileSync(join(folder, "state.json"), "");
    expect((await catchRefusal(readFolderState(folder))).hint).toStartWith(
      "this folder has no usable older state",
    );
  });
});

describe("migrate", () => {
  test("adds the fields that format 2 did not have and keeps all others", () => {
    const audit = { seq: 7, sum: "s", file: null, length: 0 };
    const counter = { total: 4, resetAt: null };
    const registration = { user: "ada", registeredAt: 3, end: 9 };
    const old = {
      format: 2,
      other: [1],
      audit,
      lentDated: false,
      licenses: [{ id: 5, counter }],
      features: [{ license: 5, counter }],
      registrations: [
        { ...registration, borrowedUntil: null },
        { ...registration, borrowedUntil: 9 },
      ],
      featureRegistrations: [registration],
    };
    const before = structuredClone(old);
    const defaults = {
      lastSeenAt: 3,
      leasedTo: null,
      contactAuditedAt: null,
      isContactUnaudited: false,
    };
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
        { ...registration, setAt: 3, borrowedUntil: null, borrowedAt: null, ...defaults },
        { ...registration, setAt: 3, borrowedUntil: 9, borrowedAt: 3, ...defaults },
      ],
      featureRegistrations: [{ ...registration, setAt: 3, timeoutAt: 9 }],
    });
    expect(old).toEqual(before);
  });

  test("finds when a slot that is not borrowed was last seen by its end", () => {
    const counter = { total: 0, resetAt: null };
    const lastSeen = (end: number, timeoutMinutes: number, borrowedUntil: number | null) => {
      const migrated = migrate({
        format: 4,
        mark: 100 * MINUTE,
        licenses: [{ id: 5, counter, terms: { timeoutMinutes } }],
        registrations: [{ license: 5, registeredAt: 7 * MINUTE, end, borrowedUntil }],
      }) as { readonly registrations: readonly [{ readonly lastSeenAt: number }] };
      return migrated.registrations[0].lastSeenAt / MINUTE;
    };
    expect(lastSeen(120 * MINUTE, 30, null)).toBe(90);
    expect(lastSeen(120 * MINUTE, 30, 120 * MINUTE)).toBe(7);
    // Renewed with another timeout: never before it was taken, and never in the future.
    expect(lastSeen(120 * MINUTE, 600, null)).toBe(7);
    expect(lastSeen(120 * MINUTE, 1, null)).toBe(100);
  });

  test("sets lentDated exactly when a license can be borrowed from", () => {
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

  test("returns a state of the current format, or data that is no state, unchanged", () => {
    for (const data of [{ format: STATE_FORMAT, x: 1 }, null, 7, "x", [], {}, { format: "2" }]) {
      expect(migrate(data)).toBe(data);
    }
  });

  test("does not turn incomplete data into a valid state", async () => {
    const folder = tempFolder();
    const content = '{\n"format":2,\n';
    writeFileSync(join(folder, "state.json"), `${content}"sum":"${sha256(content)}"\n}\n`);
    expect(new StateFile(realDisk, folder).read()).rejects.toThrow("does not have the shape");
  });
});
