// The order of persistence calls, judged from a log alone: what a power cut could undo is safe
// before anything relies on it. Files by their own sync, names by that of their folder.
import { existsSync, readdirSync } from "node:fs";
import { dirname } from "node:path";
import type { Scenario } from "./scenarios.ts";
import { isSync, describeCall, type TracedCall } from "./strace.ts";

/** Nothing of these has to outlive a power cut. */
const FLEETING = /^(?:lock|checkpoint\.lock|probe|berth\.sock)$/;

/** What a checkpoint drops, and would be needed if the new state were lost. */
const NEEDED = /^(?:journal-\d+\.jsonl|state-\d+\.json)$/;

/** All calls of a process up to an answer, in order; says what is not safe by then, or too late. */
export function findOrderViolations(
  { startingSite }: Scenario,
  calls: readonly TracedCall[],
): string[] {
  const wrong: string[] = [];
  const known = new Set(startingSite === null ? [] : namesIn(startingSite.folder));
  const dirty = new Set<string>();
  const unnamed = new Set<string>();
  for (const call of calls) {
    const { name, path } = call;
    if (FLEETING.test(path)) continue;
    if (isSync(call)) {
      dirty.delete(path);
      unnamed.delete(path);
    } else if (/^(?:open|creat|mkdir)/.test(name)) {
      // The data folder itself lies in somebody else's.
      if (!known.has(path) && path !== ".") unnamed.add(dirname(path));
      known.add(path);
    } else if (/write|truncate/.test(name)) {
      dirty.add(path);
    } else if (/^(?:rename|link)/.test(name)) {
      if (dirty.size > 0)
        wrong.push(`${describeCall(call)} before a sync of ${[...dirty].join(", ")}`);
      if (name.startsWith("rename")) known.delete(path);
      unnamed.add(dirname(path));
    } else if (name.startsWith("unlink")) {
      if (NEEDED.test(path) && unnamed.size > 0) {
        wrong.push(`${describeCall(call)} before a sync of the folder ${[...unnamed].join(", ")}`);
      }
      dirty.delete(path);
      known.delete(path);
    }
  }
  if (dirty.size > 0) wrong.push(`in the end ${[...dirty].join(", ")} is not synced`);
  if (unnamed.size > 0) wrong.push(`in the end names in ${[...unnamed].join(", ")} are not synced`);
  return wrong;
}

const namesIn = (folder: string): string[] =>
  existsSync(folder) ? readdirSync(folder, { recursive: true }).map(String) : [];
