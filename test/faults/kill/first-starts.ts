// A first start that is killed, again and again: whatever it had made so far, the next one makes a
// whole folder of it, and the appliance it became it stays.
import { join } from "node:path";
import type { StatusReply } from "../../../src/http/status.ts";
import type { KillResults } from "./results.ts";
import { startServer, type ServerProcess } from "../shared/server-process.ts";

/** On one folder, before it is let through. */
const TRIES = 4;

export async function killFirstStarts(
  kills: number,
  root: string,
  port: number,
  random: () => number,
  figures: KillResults,
): Promise<void> {
  let startTime = 60;
  for (let n = 0; figures.killsByPoint.first < kills && !figures.hasViolations; n += 1) {
    const folder = join(root, `new-${n}`);
    for (let tries = 0; tries < TRIES; tries += 1) {
      const served = startServer(folder, port);
      // The folder is made in the last part of a start.
      await Bun.sleep((0.3 + random() * 0.8) * startTime);
      served.kill("group");
      await served.exited;
      figures.killsByPoint.first += 1;
    }
    const started = performance.now();
    const first = await applianceOf(startServer(folder, port), figures);
    startTime += (performance.now() - started - startTime) / 5;
    const second = await applianceOf(startServer(folder, port), figures);
    if (first !== second)
      figures.recordViolation("starts", `${folder} was ${first} and is ${second}`);
  }
}

/** Which appliance the folder is; then the server is killed. */
async function applianceOf(served: ServerProcess, figures: KillResults): Promise<string | null> {
  if (!(await served.ready)) {
    const { code, stderr } = await served.exited;
    figures.recordViolation("starts", `a first start ended with ${code}: ${stderr}`);
    return null;
  }
  figures.counts.starts += 1;
  figures.counts.firstStarts += 1;
  const response = await fetch(`${served.url}/api/admin/v1/status`);
  const { appliance } = (await response.json()) as StatusReply;
  served.kill("group");
  await served.exited;
  return appliance.id;
}
