// kill -9 at random moments, under load, hundreds of times: whatever was answered or shown must be
// there when the server is back, and nothing else.
import { cpSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { killFirstStarts } from "./first-starts.ts";
import { KillResults, type KillPoint } from "./results.ts";
import { KillSite } from "./kill-site.ts";
import { checkLateCheckpoints } from "./late-checkpoints.ts";
import {
  finish,
  createRandom,
  reportProgress,
  makeTempFolder,
  seed,
  chooseSize,
} from "../../support/suite-harness.ts";
import { findFreePorts } from "../shared/server-process.ts";

type LicensedKillPoint = Exclude<KillPoint, "first" | "late">;

const KILLS = chooseSize(300, 10_000);
const FIRST_STARTS = chooseSize(20, 400);
const LATE_CHECKPOINTS = chooseSize(6, 100);
const LANES = Math.min(4, availableParallelism());
/** A folder is given up after as many: what it has to remember would slow its starts down. */
const LIVES_EACH = 160;

/** Of so many lives, how many end in which way; the order is shuffled. */
const ENDINGS: Readonly<Record<LicensedKillPoint, number>> = {
  load: 14,
  answer: 9,
  read: 7,
  start: 4,
  stop: 8,
  orphan: 7,
  rotation: 1,
};

const isHunt = process.argv.includes("--fail-fast");

const sites: KillResults[] = [];
const root = makeTempFolder();
const ports = findFreePorts(LANES, createRandom(seed));

const isBroken = (): boolean => sites.some((figures) => figures.hasViolations);
const killed = (): number => sites.reduce((sum, figures) => sum + figures.killCount, 0);

async function lane(index: number): Promise<void> {
  for (let n = index; killed() < KILLS && !isBroken(); n += LANES) {
    const random = createRandom(seed + n);
    const figures = new KillResults(`seed ${seed}, folder ${n}`);
    sites.push(figures);
    const path = join(root, `site-${n}`);
    const folder = new KillSite(path, ports[index] ?? 0, random, figures);
    await folder.create();
    let endings: LicensedKillPoint[] = [];
    for (let life = 0; life < LIVES_EACH && killed() < KILLS && !isBroken(); life += 1) {
      if (endings.length === 0) endings = shuffled(random);
      await folder.runAndKill(endings.pop() ?? "load");
      reportProgress("kills", killed(), KILLS);
    }
    if (!isBroken()) await folder.runToCleanStop();
    if (figures.hasViolations) keepFolder(path, n);
  }
}

function shuffled(random: () => number): LicensedKillPoint[] {
  const endings = Object.entries(ENDINGS).flatMap(([ending, times]) =>
    Array.from({ length: times }, () => ({ ending: ending as LicensedKillPoint, place: random() })),
  );
  return endings.toSorted((a, b) => a.place - b.place).map(({ ending }) => ending);
}

/** A kill cannot be repeated to the microsecond, so what it left behind is kept. */
function keepFolder(path: string, n: number): void {
  if (isHunt) return;
  const kept = join(tmpdir(), `berth-kill-${seed}-${n}`);
  cpSync(path, kept, { recursive: true, filter: (name) => !name.endsWith(".sock") });
  console.log(`the folder is kept as ${kept}`);
}

const [first, late] = [new KillResults(`seed ${seed}, first starts`), new KillResults("")];
await checkLateCheckpoints(LATE_CHECKPOINTS, root, ports[0] ?? 0, late);
await killFirstStarts(FIRST_STARTS, root, ports[0] ?? 0, createRandom(seed), first);
if (!isHunt || !(first.hasViolations || late.hasViolations)) {
  await Promise.all(ports.map((_, index) => lane(index)));
}
KillResults.sum([...sites, first, late]).checkPromises();
finish();
