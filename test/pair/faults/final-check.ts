// At the end both folders must have the lines of the database, and berth verify must accept them.
import { readJournal } from "../../support/licensed-store.ts";
import { runBinary } from "../../support/binary.ts";
import { isEventuallyTrue } from "../../support/wait-until.ts";
import type { PairSystem } from "./pair-system.ts";
import type { FaultResults } from "./results.ts";

/** Kills both hosts when the second has followed; no client calls. */
export async function checkFolders(system: PairSystem, results: FaultResults): Promise<void> {
  results.context = `${results.context}, at the end`;
  const folders = system.members.map(({ host }) => host.options.folder);
  const isEqual = await isEventuallyTrue(
    async () => {
      const end = Math.max(...(await system.readLines()).keys());
      return folders.every((folder) => readJournal(folder).at(-1)?.line.seq === end);
    },
    { patience: 60_000, maxPause: 200 },
  );
  if (!isEqual) results.recordViolation("journals", "the standby did not follow to the end");
  for (const { host } of system.members) host.kill();
  for (const { host } of system.members) await host.waitForExit();
  const lines = await system.readLines();
  for (const folder of folders) {
    for (const { line, raw } of readJournal(folder)) {
      const expected = lines.get(line.seq);
      // The lines before the pair was formed are in the folders only.
      if (expected === undefined && line.seq < Math.min(...lines.keys())) continue;
      if (raw.toString().trimEnd() === expected) continue;
      results.recordViolation("journals", `${folder}: line ${line.seq} is ${raw.toString()}`);
    }
    const { code, stdout, stderr } = await runBinary(["verify", "--data", folder]);
    if (code !== 0) results.recordViolation("journals", `berth verify: ${stdout}${stderr}`);
  }
}
