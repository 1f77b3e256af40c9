// kill -9 at random moments, under load, hundreds of times: whatever was answered or shown must be
// there when the server is back, and nothing else.
import { cpSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { firstStarts } from "./kill-first.ts";
import { Figures, type Ending } from "./kill-figures.ts";
import { Folder } from "./kill-folder.ts";
import { lateCheckpoints } from "./kill-late.ts";
import { finish, generator, progress, rigFolder, seed, sized } from "./rig.ts";
import { freePorts } from "./served.ts";

type WithLicense = Exclude<Ending, "first" | "late">;

const KILLS = sized(300, 10_000);
const FIRST_STARTS = sized(20, 400);
const LATE_CHECKPOINTS = sized(6, 100);
const LANES = Math.min(4, availableParallelism());
/** A folder is given up after as many: what it has to remember would slow its starts down. */
const LIVES_EACH = 160;

/** Of so many lives, how many end in which way; the order is shuffled. */
const ENDINGS: Readonly<Record<WithLicense, number>> = {
  load: 14,
  answer: 9,
  read: 7,
  start: 4,
  stop: 8,
  orphan: 7,
  rotation: 1,
};

const isHunt = process.argv.includes("--first");

const sites: Figures[] = [];
const root = rigFolder();
const ports = freePorts(LANES, generator(seed));

const isBroken = (): boolean => sites.some((figures) => figures.isBroken);
const killed = (): number => sites.reduce((sum, figures) => sum + figures.killed, 0);

async function lane(index: number): Promise<void> {
  for (let n = index; killed() < KILLS && !isBroken(); n += LANES) {
    const random = generator(seed + n);
    const figures = new Figures(`seed ${seed}, folder ${n}`);
    sites.push(figures);
    const path = join(root, `site-${n}`);
    const folder = new Folder(path, ports[index] ?? 0, random, figures);
    await folder.make();
    let endings: WithLicense[] = [];
    for (let life = 0; life < LIVES_EACH && killed() < KILLS && !isBroken(); life += 1) {
      if (endings.length === 0) endings = shuffled(random);
      await folder.live(endings.pop() ?? "load");
      progress("kills", killed(), KILLS);
    }
    if (!isBroken()) await folder.finish();
    if (figures.isBroken) keep(path, n);
  }
}

function shuffled(random: () => number): WithLicense[] {
  const endings = Object.entries(ENDINGS).flatMap(([ending, times]) =>
    Array.from({ length: times }, () => ({ ending: ending as WithLicense, place: random() })),
  );
  return endings.toSorted((a, b) => a.place - b.place).map(({ ending }) => ending);
}

/** A kill cannot be repeated to the microsecond, so what it left behind is kept. */
function keep(path: string, n: number): void {
  if (isHunt) return;
  const kept = join(tmpdir(), `berth-kill-${seed}-${n}`);
  cpSync(path, kept, { recursive: true, filter: (name) => !name.endsWith(".sock") });
  console.log(`the folder is kept as ${kept}`);
}

const [first, late] = [new Figures(`seed ${seed}, first starts`), new Figures("")];
await lateCheckpoints(LATE_CHECKPOINTS, root, ports[0] ?? 0, late);
await firstStarts(FIRST_STARTS, root, ports[0] ?? 0, generator(seed), first);
if (!isHunt || !(first.isBroken || late.isBroken)) {
  await Promise.all(ports.map((_, index) => lane(index)));
}
Figures.sum([...sites, first, late]).check();
finish();
