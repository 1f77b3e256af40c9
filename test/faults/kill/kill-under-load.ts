// Kills the servers of many sites under load, several sites at a time.
import { cpSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRandom, isDetectionRun, reportProgress, seed } from "../../support/suite-harness.ts";
import type { KillServers } from "./kill-servers.ts";
import { KillSite } from "./kill-site.ts";
import { KillResults, type KillPoint } from "./results.ts";

export type LoadKillPoint = Exclude<KillPoint, "first" | "late">;

interface KillPlan {
  readonly kills: number;
  readonly parallelSites: number;
  /** A site is replaced after this many runs, because its growing state would slow down its starts. */
  readonly runsPerSite: number;
  /** How many runs in each cycle end at which kill point; the order is shuffled. */
  readonly killsPerCycle: Readonly<Record<LoadKillPoint, number>>;
  /** For the folders of the sites. */
  readonly root: string;
  /** `index` is below `parallelSites`: only one of its sites runs at a time. */
  readonly makeServers: (folder: string, index: number, random: () => number) => KillServers;
}

export async function killUnderLoad(plan: KillPlan): Promise<KillResults> {
  const { kills, parallelSites, runsPerSite } = plan;
  const siteResults: KillResults[] = [];
  const hasViolations = (): boolean => siteResults.some((results) => results.hasViolations);
  const countKills = (): number => siteResults.reduce((sum, { killCount }) => sum + killCount, 0);

  const order = createRandom(seed);
  let killPoints: LoadKillPoint[] = [];

  /** All sites share a cycle, so that every kill point occurs however few kills there are. */
  function nextKillPoint(): LoadKillPoint {
    if (killPoints.length === 0) killPoints = shuffleKillPoints(plan.killsPerCycle, order);
    return killPoints.pop() ?? "load";
  }

  /** Kills the servers of one site after the other. */
  async function runSites(index: number): Promise<void> {
    for (let n = index; countKills() < kills && !hasViolations(); n += parallelSites) {
      const random = createRandom(seed + n);
      const results = new KillResults(`seed ${seed}, folder ${n}`);
      siteResults.push(results);
      const path = join(plan.root, `site-${n}`);
      const site = new KillSite(plan.makeServers(path, index, random), random, results);
      await site.create();
      for (let run = 0; run < runsPerSite && countKills() < kills && !hasViolations(); run += 1) {
        await site.runAndKill(nextKillPoint());
        reportProgress("kills", countKills(), kills);
      }
      if (!hasViolations()) await site.runToCleanStop();
      if (results.hasViolations) keepFolder(path, n);
    }
  }

  await Promise.all(Array.from({ length: parallelSites }, (_, index) => runSites(index)));
  return KillResults.sum(siteResults);
}

function shuffleKillPoints(
  killsPerCycle: KillPlan["killsPerCycle"],
  random: () => number,
): LoadKillPoint[] {
  const killPoints = Object.entries(killsPerCycle).flatMap(([killPoint, count]) =>
    Array.from({ length: count }, () => ({
      killPoint: killPoint as LoadKillPoint,
      order: random(),
    })),
  );
  return killPoints.toSorted((a, b) => a.order - b.order).map(({ killPoint }) => killPoint);
}

/** A kill cannot be repeated to the microsecond, so the folder it left is copied for analysis. */
function keepFolder(path: string, n: number): void {
  if (isDetectionRun) return;
  const copy = join(tmpdir(), `berth-kill-${seed}-${n}`);
  cpSync(path, copy, { recursive: true, filter: (name) => !name.endsWith(".sock") });
  console.log(`the data folder with the violation is copied to ${copy}`);
}
