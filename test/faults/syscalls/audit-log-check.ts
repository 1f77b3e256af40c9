// Checks a folder after a completed checkpoint: `state.json` must cover every line, and the audit
// log must end where `state.json` says.
import { realDisk } from "../../../src/platform/files/disk.ts";
import { GENESIS } from "../../../src/platform/crypto/hash.ts";
import { loadFolder } from "../../../src/store/folder/load.ts";
import { StateFile } from "../../../src/store/state/state-file.ts";
import { BrokenChainError, readAuditChain, readAuditTexts } from "../shared/audit-chain.ts";

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
  let [seq, sum] = [0, GENESIS];
  try {
    for (const line of readAuditChain(readAuditTexts(folder)))
      [seq, sum] = [line.audit_seq, line.sum];
  } catch (error) {
    if (error instanceof BrokenChainError) return [...violations, error.message];
    throw error;
  }
  if (seq !== state.audit.seq || sum !== state.audit.sum) {
    violations.push(`the audit log ends with line ${seq}, but state.json says ${state.audit.seq}`);
  }
  return violations;
}
