// A first start that is killed, again and again: whatever it had made so far, the next one makes a
// whole folder of it, and the appliance it became it stays.
import { join } from "node:path";
import type { StatusReply } from "../../src/http/status.ts";
import type { Figures } from "./kill-figures.ts";
import { serve, type Served } from "./served.ts";

/** On one folder, before it is let through. */
const TRIES = 4;

export async function firstStarts(
  kills: number,
  root: string,
  port: number,
  random: () => number,
  figures: Figures,
): Promise<void> {
  let startTime = 60;
  for (let n = 0; figures.kills.first < kills && !figures.isBroken; n += 1) {
    const folder = join(root, `new-${n}`);
    for (let tries = 0; tries < TRIES; tries += 1) {
      const served = serve(folder, port);
      // The folder is made in the last part of a start.
      await Bun.sleep((0.3 + random() * 0.8) * startTime);
      served.kill("group");
      await served.ended;
      figures.kills.first += 1;
    }
    const started = performance.now();
    const first = await applianceOf(serve(folder, port), figures);
    startTime += (performance.now() - started - startTime) / 5;
    const second = await applianceOf(serve(folder, port), figures);
    if (first !== second) figures.break("starts", `${folder} was ${first} and is ${second}`);
  }
}

/** Which appliance the folder is; then the server is killed. */
async function applianceOf(served: Served, figures: Figures): Promise<string | null> {
  if (!(await served.ready)) {
    const { code, complaint } = await served.ended;
    figures.break("starts", `a first start ended with ${code}: ${complaint}`);
    return null;
  }
  figures.of.starts += 1;
  figures.of.firstStarts += 1;
  const response = await fetch(`${served.url}/api/admin/v1/status`);
  const { appliance } = (await response.json()) as StatusReply;
  served.kill("group");
  await served.ended;
  return appliance.id;
}
