// Checks a folder after a completed checkpoint: `state.json` must cover every line, and the audit
// log must end where `state.json` says.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { GENESIS } from "../../../src/platform/crypto/hash.ts";
import { AUDIT_FOLDER } from "../../../src/store/folder/files.ts";
import { decodeLine, type JournalLine } from "../../../src/store/journal/journal.ts";
import { loadFolder } from "../../../src/store/folder/load.ts";
import { StateFile } from "../../../src/store/state/state-file.ts";

export async function findAuditLogViolations(folder: string): Promise<string[]> {
  const state = await new StateFile(realDisk, folder).read();
  const loaded = await loadFolder(realDisk, folder);
  if (state === null || loaded === null) return ["there is no state.json after a clean stop"];
  const violations: string[] = [];
  if (state.covers.seq !== loaded.head.seq) {
    violations.push(
      `state.json covers ${state.covers.seq} of ${loaded.head.seq} lines after a clean stop`,
    );
  }
  let sum = GENESIS;
  let seq = 0;
  for (const line of readAuditLines(folder)) {
    if (line === null || line.audit_seq !== seq + 1 || line.audit_prev !== sum) {
      return [...violations, `the chain of the audit log breaks after line ${seq}`];
    }
    seq = line.audit_seq;
    sum = line.sum;
  }
  if (seq !== state.audit.seq || sum !== state.audit.sum) {
    violations.push(`the audit log ends with line ${seq}, but state.json says ${state.audit.seq}`);
  }
  return violations;
}

/** All lines of the audit log in order; null for a line that cannot be read. */
function readAuditLines(folder: string): (JournalLine | null)[] {
  const files = readdirSync(join(folder, AUDIT_FOLDER)).map((name) => {
    const lineTexts = readFileSync(join(folder, AUDIT_FOLDER, name), "utf8").split("\n");
    const lines = lineTexts
      .slice(0, lineTexts.at(-1) === "" ? -1 : undefined)
      .map((text) => decodeLine(new Uint8Array(Buffer.from(text))));
    return { first: lines[0]?.audit_seq ?? 0, lines };
  });
  return files.toSorted((a, b) => a.first - b.first).flatMap(({ lines }) => lines);
}
