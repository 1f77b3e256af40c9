// Kills first starts on a new folder. Whatever a killed start has written, the next start must
// complete the folder, and its appliance must stay the same from then on.
import { join } from "node:path";
import type { StatusReply } from "../../../src/http/routes/health/status-schema.ts";
import type { KillResults } from "./results.ts";
import type { ServerProcess } from "../shared/server-process.ts";

/** Killed starts on one folder before a start may complete. */
const KILLS_PER_FOLDER = 4;

interface FirstStarts {
  readonly killTarget: number;
  /** For the new folders. */
  readonly root: string;
  readonly start: (folder: string) => ServerProcess;
  readonly random: () => number;
  readonly results: KillResults;
  /** A start creates the folder in this part of its time. */
  readonly creation: { readonly begin: number; readonly end: number };
}

export async function killFirstStarts({
  killTarget,
  root,
  start,
  random,
  results,
  creation: { begin, end },
}: FirstStarts): Promise<void> {
  let startMs = 60;
  for (let n = 0; results.killsByPoint.first < killTarget && !results.hasViolations; n += 1) {
    const folder = join(root, `new-${n}`);
    for (let kills = 0; kills < KILLS_PER_FOLDER; kills += 1) {
      const server = start(folder);
      await Bun.sleep((begin + random() * (end - begin)) * startMs);
      server.kill("group");
      await server.exited;
      results.killsByPoint.first += 1;
    }
    const started = performance.now();
    const first = await readApplianceId(start(folder), results);
    startMs += (performance.now() - started - startMs) / 5;
    const second = await readApplianceId(start(folder), results);
    if (first !== second)
      results.recordViolation(
        "starts",
        `${folder} was the appliance ${first} and is now ${second}`,
      );
  }
}

/** Reads the appliance of the folder, then kills the server. */
async function readApplianceId(
  server: ServerProcess,
  results: KillResults,
): Promise<string | null> {
  if (!(await server.ready)) {
    const { code, stderr } = await server.exited;
    results.recordViolation(
      "starts",
      `a start on a new folder exited with code ${code}: ${stderr}`,
    );
    return null;
  }
  results.counts.starts += 1;
  results.counts.firstStarts += 1;
  const response = await fetch(`${server.url}/api/admin/v1/status`);
  const { appliance } = (await response.json()) as StatusReply;
  server.kill("group");
  await server.exited;
  return appliance.id;
}
