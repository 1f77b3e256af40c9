// Checks the order of persistence calls in a trace: data that a power cut could undo must be synced
// before another call relies on it. File content needs a sync of the file, a name of its folder.
import { existsSync, readdirSync } from "node:fs";
import { dirname } from "node:path";
import type { Scenario } from "./scenarios.ts";
import { isSync, describeCall, type TracedCall } from "./strace.ts";

/** Files that need not survive a power cut. */
const TEMPORARY = /^(?:lock|checkpoint\.lock|probe|berth\.sock)$/;

/** Files that a checkpoint removes, and that are needed if the new state is lost. */
const NEEDED_FOR_RECOVERY = /^(?:journal-\d+\.jsonl|state-\d+\.json)$/;

/** `calls`: all calls of a process up to an answer, in order. */
export function findOrderViolations(
  { startingSite }: Scenario,
  calls: readonly TracedCall[],
): string[] {
  const violations: string[] = [];
  const existingPaths = new Set(startingSite === null ? [] : listPaths(startingSite.folder));
  const unsyncedFiles = new Set<string>();
  const unsyncedFolders = new Set<string>();
  for (const call of calls) {
    const { name, path } = call;
    if (TEMPORARY.test(path)) continue;
    if (isSync(call)) {
      unsyncedFiles.delete(path);
      unsyncedFolders.delete(path);
    } else if (/^(?:open|creat|mkdir)/.test(name)) {
      // The folder that contains the data folder is not the server's to sync.
      if (!existingPaths.has(path) && path !== ".") unsyncedFolders.add(dirname(path));
      existingPaths.add(path);
    } else if (/write|truncate/.test(name)) {
      unsyncedFiles.add(path);
    } else if (/^(?:rename|link)/.test(name)) {
      if (unsyncedFiles.size > 0)
        violations.push(`${describeCall(call)} before a sync of ${[...unsyncedFiles].join(", ")}`);
      if (name.startsWith("rename")) existingPaths.delete(path);
      unsyncedFolders.add(dirname(path));
    } else if (name.startsWith("unlink")) {
      if (NEEDED_FOR_RECOVERY.test(path) && unsyncedFolders.size > 0) {
        violations.push(
          `${describeCall(call)} before a sync of the folder ${[...unsyncedFolders].join(", ")}`,
        );
      }
      unsyncedFiles.delete(path);
      existingPaths.delete(path);
    }
  }
  if (unsyncedFiles.size > 0)
    violations.push(`at the end ${[...unsyncedFiles].join(", ")} is not synced`);
  if (unsyncedFolders.size > 0)
    violations.push(`at the end the folder ${[...unsyncedFolders].join(", ")} is not synced`);
  return violations;
}

const listPaths = (folder: string): string[] =>
  existsSync(folder) ? readdirSync(folder, { recursive: true }).map(String) : [];
