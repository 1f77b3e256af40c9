// Every persistence call of the compiled binary, with every fault a kernel can answer it with: the
// process killed before it, an I/O error, no room, a short write; and every sync held up. Nothing is
// drawn by lot: what is called is recorded first, then each call is hit in a run of its own.
import { realpathSync } from "node:fs";
import { availableParallelism } from "node:os";
import { check, finish, needs, rigFolder, skip } from "./rig.ts";
import { delay, type Waited } from "./syscalls-delays.ts";
import { judge, PROMISES, type Promised } from "./syscalls-judge.ts";
import { disorder } from "./syscalls-order.ts";
import { play } from "./syscalls-play.ts";
import { scenes, type Scene } from "./syscalls-scenes.ts";
import { prepare } from "./syscalls-site.ts";
import { DELAY, EFFECTS, effectsOn, isSync, labelOf, whens } from "./syscalls-trace.ts";
import type { Call, Effect } from "./syscalls-trace.ts";

needs({ strace: "strace", "util-linux": "prlimit" });
const allowed = Bun.spawnSync(["strace", "-f", "-o", "/dev/null", "true"]);
if (allowed.exitCode !== 0) {
  skip("every persistence call with every fault", `no tracing here: ${allowed.stderr.toString()}`);
  finish();
}

const CORES = availableParallelism();
/** Many runs wait most of their time: for the next second's probe, for last words. */
const AT_ONCE = 4 * CORES;
/** A sync may need some luck to be hit; everything else is hit at once. */
const TRIES = 60;

/** `--scene=NAME`: no other one is played. */
const [only] = process.argv.flatMap((word) => /^--scene=(.*)$/.exec(word)?.[1] ?? []);

const root = realpathSync(rigFolder());
const all = (await prepared()).filter(({ name }) => only === undefined || name === only);
if (all.length === 0) throw new Error(`there is no scene ${only}`);

interface Target {
  readonly scene: Scene;
  readonly call: Call;
  readonly effect: Effect;
}

const isHunt = process.argv.includes("--first");

const calls = await record();
const tried = new Map<Promised, number>();
const broken = new Map<Promised, string[]>();
const hits = new Map<Effect, number>();
const missed: string[] = [];
const said = new Set<Promised>();
let runs = 0;
const targets = all.flatMap((scene) =>
  (calls.get(scene) ?? []).flatMap((call) =>
    effectsOn(call)
      .filter((effect) => scene.effects?.includes(effect) ?? true)
      .map((effect): Target => ({ scene, call, effect })),
  ),
);
// The journal first, where answers come from; then a call of each scene by turns.
await inParallel(
  targets.toSorted((a, b) => turnOf(a) - turnOf(b)),
  AT_ONCE,
  hit,
);
conclude();
await holdUp();
finish();

async function prepared(): Promise<readonly Scene[]> {
  try {
    return scenes(await prepare(root));
  } catch (error) {
    check("a site can be made, licensed, used and folded", false, String(error));
    return finish();
  }
}

/** What each scene calls when nothing is wrong, which must be the same every time. */
async function record(): Promise<ReadonlyMap<Scene, readonly Call[]>> {
  const recorded = new Map<Scene, Call[][]>(all.map((scene) => [scene, []]));
  const wrong: string[] = [];
  const unsafe: string[] = [];
  await inParallel([...all, ...all], AT_ONCE, async (scene) => {
    const seen = await play(root, scene, "record");
    const meant = ({ starting }: Call): boolean =>
      scene.traced === "checkpoint" || starting === (scene.part === "start");
    recorded.get(scene)?.push(seen.trace.calls.filter(meant));
    unsafe.push(...disorder(scene, seen.trace.calls).map((one) => `${scene.name}: ${one}`));
    wrong.push(...seen.wrong.map((one) => `${scene.name}: ${one}`));
  });
  const found = new Map<Scene, readonly Call[]>();
  for (const [scene, [first = [], second = []]] of recorded) {
    const [one, other] = [first, second].map((list) => list.map(labelOf).toSorted().join(", "));
    if (one !== other) wrong.push(`${scene.name}: ${one}, and then ${other}`);
    found.set(scene, first);
  }
  const count = [...found.values()].flat();
  check(
    `the same ${count.length} persistence calls twice, ${count.filter(isSync).length} of them ` +
      `syncs, in ${all.length} scenes, and all well`,
    wrong.length === 0,
    wrong,
  );
  check(
    `in the order they come, nothing is renamed before it is synced, no old file goes before the ` +
      `new one's name is safe, and no file or name is left unsynced (${2 * all.length} logs)`,
    unsafe.length === 0,
    unsafe,
  );
  return found;
}

/** No answer comes before the syncs it stands on. */
async function holdUp(): Promise<void> {
  const waited: Waited[] = [];
  const held = all.filter(
    (scene) =>
      !scene.full &&
      (scene.traced === "server" || scene.folds) &&
      (scene.part === "rest" || syncsIn(scene) > 0),
  );
  await inParallel(held, 4 * CORES, async (scene) => {
    // An operation without any sync is not let off: one is the least.
    waited.push(...(await delay(root, scene, Math.max(1, syncsIn(scene)))));
  });
  const wrong = waited.flatMap((one) => one.wrong ?? []);
  check(
    `syncs held up by ${DELAY / 1_000} s in ${held.length} scenes: none of ${waited.length} ` +
      "answers, reads and refusals among them, comes before the sync it stands on, and a " +
      "checkpoint holds nobody up",
    wrong.length === 0,
    wrong,
  );
}

function syncsIn(scene: Scene): number {
  return (calls.get(scene) ?? []).filter(isSync).length;
}

function turnOf({ scene, call }: Target): number {
  if (call.path.startsWith("journal-")) return -1;
  return (calls.get(scene) ?? []).indexOf(call);
}

/** Plays a scene with one fault, again if it was not the call that was meant. */
async function hit({ scene, call, effect }: Target): Promise<void> {
  const choices = whens(call);
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const aim = { call, effect, when: choices[attempt % choices.length] ?? 1 };
    const seen = await play(root, scene, aim);
    runs += 1;
    const { hit } = seen.trace;
    if (hit === null) continue;
    for (const { promise, broken: how } of judge(scene, effect, hit, seen)) {
      tried.set(promise, (tried.get(promise) ?? 0) + 1);
      if (how === null) continue;
      broken.set(promise, [...(broken.get(promise) ?? []), how]);
      if (isHunt) sayOf(promise);
    }
    if (labelOf(hit) !== labelOf(call)) continue;
    hits.set(effect, (hits.get(effect) ?? 0) + 1);
    return;
  }
  missed.push(`${scene.name}, ${effect} at ${labelOf(call)}`);
}

function conclude(): void {
  const figures = EFFECTS.map((effect) => `${effect} ${hits.get(effect) ?? 0}`).join(", ");
  check(
    `each of the calls was hit with each fault that it can have (${figures}; ${runs} runs)`,
    missed.length === 0 && runs >= targets.length,
    missed,
  );
  const promises = Object.keys(PROMISES) as Promised[];
  // One scene alone need not try them all.
  for (const promise of promises) if (only === undefined || tried.has(promise)) sayOf(promise);
}

function sayOf(promise: Promised): void {
  const details = broken.get(promise) ?? [];
  if (said.has(promise)) return;
  said.add(promise);
  const text = `${PROMISES[promise]} (${tried.get(promise) ?? 0} runs)`;
  check(text, details.length === 0 && tried.has(promise), details.slice(0, 5));
}

async function inParallel<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await work(next);
    }),
  );
}
