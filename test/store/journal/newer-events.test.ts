// A journal with an event of a type that this version does not know: a newer one wrote it.
import { describe, expect, test } from "bun:test";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Event } from "../../../src/domain/model/event.ts";
import { evolve } from "../../../src/domain/evolve/evolve.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { checkpoint } from "../../../src/store/checkpoint/checkpoint.ts";
import {
  encodeLine,
  genesisHead,
  scanSegment,
  type ChainHead,
} from "../../../src/store/journal/journal.ts";
import { FormatRefused } from "../../../src/store/folder/refusal.ts";
import { replay } from "../../../src/store/journal/replay.ts";
import { decodeSnapshot, encodeSnapshot } from "../../../src/store/state/state-rows.ts";
import { StateFile } from "../../../src/store/state/state-file.ts";
import { verify } from "../../../src/operations/folder/verify.ts";
import { openSiteWithKey, checkIdentity } from "../../support/backup-site.ts";
import {
  transactOrThrow,
  readJournal,
  catchFolderRefusal,
  listSegmentNames,
} from "../../support/licensed-store.ts";
import { MONDAY, register } from "../../support/scenario.ts";
import { contentsOf, copyFolder } from "../../support/temp-folder.ts";

/** An event as a newer version may write it. */
const NEWER_EVENT = JSON.parse(
  `{"type":"SlotLent","at":${MONDAY},"license":1,"user":"ada"}`,
) as Event;

interface NewerSite {
  readonly folder: string;
  /** The newest segment, and the head of the journal after the added line. */
  readonly path: string;
  readonly head: ChainHead;
}

/** A site in which a newer version wrote one line before its server was killed. */
async function prepareKilledSite(): Promise<NewerSite> {
  const { store, folder } = await openSiteWithKey();
  await transactOrThrow(store, register("ada"));
  const copy = copyFolder(folder);
  const path = join(copy, listSegmentNames(copy).at(-1) ?? "");
  const { head } = scanSegment(new Uint8Array(readFileSync(path)), genesisHead, () => {});
  const added = encodeLine(head, null, MONDAY, [NEWER_EVENT]);
  appendFileSync(path, added.text);
  return { folder: copy, path, head: added.head };
}

const HINT =
  "a newer version of berth wrote it: start that version, or a newer one; nothing was changed";

describe("journal with an event of a newer version", () => {
  test("is refused by a start with file, line and event type, and nothing is changed", async () => {
    const { folder, path, head } = await prepareKilledSite();
    const before = contentsOf(folder);
    const refusal = await catchFolderRefusal(folder);
    expect(refusal).toBeInstanceOf(FormatRefused);
    expect(refusal.message).toBe(
      `${path}: line ${head.seq} contains an event that this version of berth does not know: SlotLent`,
    );
    expect(refusal.hint).toBe(HINT);
    expect(contentsOf(folder)).toEqual(before);
  });

  test("is refused by berth verify with the same message", async () => {
    const { folder, head } = await prepareKilledSite();
    const verification = verify(realDisk, folder, { identity: checkIdentity });
    expect(verification).rejects.toThrow(
      `line ${head.seq} contains an event that this version of berth does not`,
    );
    expect(verification).rejects.toBeInstanceOf(FormatRefused);
  });

  test("is refused by a checkpoint, and nothing is changed", async () => {
    const { folder, path, head } = await prepareKilledSite();
    writeFileSync(join(folder, `journal-${head.seq + 1}.jsonl`), "");
    const before = contentsOf(folder);
    expect(checkpoint(realDisk, folder, head.seq + 1)).rejects.toThrow(
      `${path}: line ${head.seq} contains an event that this version of berth does not know: SlotLent`,
    );
    await Bun.sleep(0);
    expect(contentsOf(folder)).toEqual({ ...before, "checkpoint.lock": "600 " });
  });
});

/** A site in which the newer version made a checkpoint, in the current format, and stopped. */
async function prepareStoppedSite(): Promise<NewerSite> {
  const { folder, path, head } = await prepareKilledSite();
  const file = new StateFile(realDisk, folder);
  const before = await file.read();
  if (before === null) throw new Error("no state");
  const state = decodeSnapshot(before);
  const audited: Buffer[] = [];
  for (const { line, raw } of readJournal(folder)) {
    // The effect of the event is in the state, in fields that this version does not have.
    if (line.seq < head.seq) for (const event of line.events) evolve(state, event);
    if (line.audit_seq !== undefined) audited.push(raw);
  }
  const auditFile = Buffer.concat(audited);
  writeFileSync(join(folder, "history", "2026-03.jsonl"), auditFile, { mode: 0o600 });
  writeFileSync(join(folder, `journal-${head.seq + 1}.jsonl`), "", { mode: 0o600 });
  const end = { ...before.audit, file: "2026-03.jsonl", length: auditFile.length };
  await file.write(encodeSnapshot(state, head, end), before);
  return { folder, path, head };
}

describe("event of a newer version that the state already covers", () => {
  test("does not prevent reading or verifying the folder", async () => {
    const { folder, head } = await prepareStoppedSite();
    expect(await replay(realDisk, folder)).toMatchObject({ head: { seq: head.seq } });
    const report = await verify(realDisk, folder, { identity: checkIdentity });
    expect(report.auditLog.lines).toBe(head.auditSeq);
    // Only the newer version, which knows the event, can continue from the older state.
    expect(report.generations).toEqual([]);
  });
});
