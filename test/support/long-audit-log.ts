// Writes a data folder with a long audit log directly, without running the commands.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Event } from "../../src/domain/model/event.ts";
import { instant, MINUTE, type Instant } from "../../src/domain/time.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { encodeLine, genesisHead, type ChainHead } from "../../src/store/journal/journal.ts";
import { emptyAuditLogEnd } from "../../src/store/state/snapshot.ts";
import { encodeSnapshot } from "../../src/store/state/state-rows.ts";
import { StateFile } from "../../src/store/state/state-file.ts";
import { CONTACT, MONDAY } from "./scenario.ts";
import { makeNewSite } from "./new-site.ts";

const LINES_PER_WRITE = 20_000;

/**
 * Writes `lines` audit log lines, one per minute, into monthly files. With `renewals`, the journal
 * then has one more line and that many renewals, which are not in a checkpoint yet.
 */
export async function writeLongAuditLog(
  folder: string,
  lines: number,
  renewals = 0,
  appliance = "",
): Promise<void> {
  mkdirSync(join(folder, "history"), { recursive: true, mode: 0o700 });
  const files = new Map<string, number>();
  let head: ChainHead = genesisHead;
  let file = "";
  for (let texts: string[] = [], line = 1; line <= lines; line += 1) {
    const at = instant(MONDAY + line * MINUTE);
    const name = `${new Date(at).toISOString().slice(0, 7)}.jsonl`;
    if (name !== file || texts.length === LINES_PER_WRITE) {
      append(folder, file, texts, files);
      texts = [];
    }
    file = name;
    const next = encodeLine(head, null, at, [makeEvent(line, at)]);
    texts.push(next.text);
    head = next.head;
    if (line === lines) append(folder, file, texts, files);
  }
  const state = makeNewSite();
  // Its trust document is not signed, which a start would refuse.
  state.vendors.clear();
  state.appliance = appliance;
  state.latestEventAt = instant(MONDAY + lines * MINUTE);
  const end = { ...emptyAuditLogEnd, file, length: files.get(file) ?? 0 };
  await new StateFile(realDisk, folder).write(encodeSnapshot(state, head, end), null);
  const journal: string[] = [];
  const name = `journal-${head.seq + 1}.jsonl`;
  if (renewals > 0) {
    const event: Event = {
      type: "KeysSet",
      at: state.latestEventAt,
      changed: [],
      peer: "10.0.0.7",
    };
    const next = encodeLine(head, null, state.latestEventAt, [event]);
    journal.push(next.text);
    head = next.head;
  }
  for (let count = 0; count < renewals; count += 1) {
    const next = encodeLine(head, null, state.latestEventAt, [
      { type: "ClockMarked", at: state.latestEventAt },
    ]);
    journal.push(next.text);
    head = next.head;
  }
  writeFileSync(join(folder, name), journal.join(""), { mode: 0o600 });
}

function append(
  folder: string,
  name: string,
  texts: readonly string[],
  files: Map<string, number>,
): void {
  if (texts.length === 0) return;
  const text = texts.join("");
  writeFileSync(join(folder, "history", name), text, { flag: "a", mode: 0o600 });
  files.set(name, (files.get(name) ?? 0) + Buffer.byteLength(text));
}

/** A user takes or releases a slot, in turn. */
function makeEvent(line: number, at: Instant): Event {
  const user = `user ${line % 997}`;
  const contact = { ...CONTACT, hostname: `desk-${line % 997}` };
  const fields = { license: 1, user, slot: line, at };
  if (line % 2 === 0) return { type: "SlotTaken", ...fields, end: at, contact };
  const peer = "10.0.0.7";
  return { type: "SlotReleased", ...fields, by: "user", peer, early: false };
}
