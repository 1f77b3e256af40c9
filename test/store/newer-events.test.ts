// A journal with an event of a type that this version does not know: a newer one wrote it.
import { describe, expect, test } from "bun:test";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Event } from "../../src/domain/event.ts";
import { evolve } from "../../src/domain/evolve.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import { encodeLine, genesisHead, scanSegment, type ChainHead } from "../../src/store/journal.ts";
import { FormatRefused } from "../../src/store/refusal.ts";
import { replay } from "../../src/store/replay.ts";
import { decodeSnapshot, encodeSnapshot } from "../../src/store/state-rows.ts";
import { StateFile } from "../../src/store/state-file.ts";
import { verify } from "../../src/store/verify.ts";
import { openSiteWithKey, checkIdentity } from "../support/backup-site.ts";
import {
  transactOrThrow,
  readJournal,
  catchFolderRefusal,
  listSegmentNames,
} from "../support/licensed-store.ts";
import { MONDAY, register } from "../support/scenario.ts";
import { contentsOf, copyFolder } from "../support/temp-folder.ts";

/** As a newer version may write one. */
const NEWER = JSON.parse(`{"type":"SlotLent","at":${MONDAY},"license":1,"user":"ada"}`) as Event;

interface Killed {
  readonly folder: string;
  /** The newest segment, and where the journal stands after the line that was added. */
  readonly path: string;
  readonly head: ChainHead;
}

/** A site that a newer version ran on for one line; its server was killed then. */
async function killed(): Promise<Killed> {
  const { store, folder } = await openSiteWithKey();
  await transactOrThrow(store, register("ada"));
  const copy = copyFolder(folder);
  const path = join(copy, listSegmentNames(copy).at(-1) ?? "");
  const { head } = scanSegment(new Uint8Array(readFileSync(path)), genesisHead, () => {});
  const added = encodeLine(head, null, MONDAY, [NEWER]);
  appendFileSync(path, added.text);
  return { folder: copy, path, head: added.head };
}

const HINT =
  "a newer version of berth wrote it: start that version, or a newer one; nothing was changed";

describe("an event of a newer version in the journal", () => {
  test("is refused by a start with its file, line and type, and nothing is changed", async () => {
    const { folder, path, head } = await killed();
    const before = contentsOf(folder);
    const refusal = await catchFolderRefusal(folder);
    expect(refusal).toBeInstanceOf(FormatRefused);
    expect(refusal.message).toBe(
      `${path}: line ${head.seq} holds an event that this berth does not know: SlotLent`,
    );
    expect(refusal.hint).toBe(HINT);
    expect(contentsOf(folder)).toEqual(before);
  });

  test("is refused by berth verify in the same words", async () => {
    const { folder, head } = await killed();
    const verifying = verify(realDisk, folder, { identity: checkIdentity });
    expect(verifying).rejects.toThrow(`line ${head.seq} holds an event that this berth does not`);
    expect(verifying).rejects.toBeInstanceOf(FormatRefused);
  });

  test("is not folded into the state by a checkpoint", async () => {
    const { folder, path, head } = await killed();
    writeFileSync(join(folder, `journal-${head.seq + 1}.jsonl`), "");
    const before = contentsOf(folder);
    expect(checkpoint(realDisk, folder, head.seq + 1)).rejects.toThrow(
      `${path}: line ${head.seq} holds an event that this berth does not know: SlotLent`,
    );
    await Bun.sleep(0);
    expect(contentsOf(folder)).toEqual({ ...before, "checkpoint.lock": "600 " });
  });
});

/** The newer version has made a checkpoint, in the format of this one, before it was stopped. */
async function stopped(): Promise<Killed> {
  const { folder, path, head } = await killed();
  const file = new StateFile(realDisk, folder);
  const before = await file.read();
  if (before === null) throw new Error("no state");
  const state = decodeSnapshot(before);
  const audited: Buffer[] = [];
  for (const { line, raw } of readJournal(folder)) {
    // What the event means is in the state, where this version has no word for it.
    if (line.seq < head.seq) for (const event of line.events) evolve(state, event);
    if (line.audit_seq !== undefined) audited.push(raw);
  }
  const record = Buffer.concat(audited);
  writeFileSync(join(folder, "history", "2026-03.jsonl"), record, { mode: 0o600 });
  writeFileSync(join(folder, `journal-${head.seq + 1}.jsonl`), "", { mode: 0o600 });
  const end = { ...before.audit, file: "2026-03.jsonl", length: record.length };
  await file.write(encodeSnapshot(state, head, end), before);
  return { folder, path, head };
}

describe("an event of a newer version that is in the state already", () => {
  test("does not keep the folder from being read, or from being verified", async () => {
    const { folder, head } = await stopped();
    expect(await replay(realDisk, folder)).toMatchObject({ head: { seq: head.seq } });
    const found = await verify(realDisk, folder, { identity: checkIdentity });
    expect(found.auditLog.lines).toBe(head.auditSeq);
    // From the checkpoint before, only the version that knows the event can go on.
    expect(found.generations).toEqual([]);
  });
});
