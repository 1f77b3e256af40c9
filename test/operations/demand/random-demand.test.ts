// Random demand on a small site, in batches that are decided together and written together. The
// recorded episodes are compared with a second, simple count. Each refusal must follow from the
// journal up to the line that its episode names.
import { expect, onTestFinished, test } from "bun:test";
import { decide, type Command } from "../../../src/domain/decide.ts";
import type { ClosedEpisode, EpisodeOutcome } from "../../../src/domain/model/demand/episode.ts";
import { evolve } from "../../../src/domain/evolve/evolve.ts";
import { later, MINUTE, SECOND, type Instant } from "../../../src/domain/time.ts";
import { CommandRunner, passOutcome } from "../../../src/operations/command-runner.ts";
import { openSite, readJournal, transactOrThrow } from "../../support/licensed-store.ts";
import { makeNewSite } from "../../support/new-site.ts";
import { contextAt } from "../../support/rule-context.ts";
import {
  featureTerms,
  install,
  register,
  registerFeature,
  releaseFeature,
  unregister,
} from "../../support/scenario.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const USERS = ["ada", "bob", "cem", "dan", "eve", "fay"];
const BATCHES = 150;
const WEIGHTS = { register: 10, unregister: 3, registerFeature: 6, releaseFeature: 1 };

interface CountedEpisode {
  readonly key: string;
  readonly times: Instant[];
}

/** The rules of an episode once more, from the answers alone. */
class EpisodeCount {
  readonly lines: string[] = [];
  readonly #open = new Map<string, CountedEpisode>();

  refuse(key: string, at: Instant): void {
    const open = this.#open.get(key);
    const isOver =
      open !== undefined &&
      (at - (open.times.at(-1) ?? 0) >= 600_000 || at - (open.times[0] ?? 0) >= 86_400_000);
    if (isOver) this.#close(open, "gave_up", null);
    const current = this.#open.get(key) ?? { key, times: [] };
    current.times.push(at);
    this.#open.set(key, current);
  }

  settle(key: string, outcome: EpisodeOutcome, at: Instant): void {
    const open = this.#open.get(key);
    if (open === undefined) return;
    const isSilent = at - (open.times.at(-1) ?? 0) >= 600_000;
    this.#close(open, isSilent ? "gave_up" : outcome, isSilent ? null : at);
  }

  finish(): string[] {
    for (const open of this.#open.values()) this.#close(open, "gave_up", null);
    return this.lines.toSorted();
  }

  #close({ key, times }: CountedEpisode, outcome: EpisodeOutcome, at: Instant | null): void {
    this.#open.delete(key);
    const [first, last] = [times[0], times.at(-1)];
    this.lines.push(`${key} ${first} ${last} ${times.length} ${outcome} ${at ?? last}`);
  }
}

const describeEpisode = (episode: ClosedEpisode): string => {
  const { user, feature, firstAt, lastAt, attempts, outcome, endedAt } = episode;
  return `${user} ${feature} ${firstAt} ${lastAt} ${attempts} ${outcome} ${endedAt}`;
};

function randomDemandCommand(random: SeededRandom): Command & { readonly user: string | null } {
  const user = random.pick(USERS);
  const kind = random.pickWeighted(WEIGHTS);
  if (kind === "register") return register(user);
  if (kind === "unregister") return unregister(user);
  return kind === "registerFeature" ? registerFeature(user, "mesh") : releaseFeature(user, "mesh");
}

async function runDemand(seed: number) {
  const random = new SeededRandom(seed);
  const { folder, store, clock } = await openSite();
  const runner = new CommandRunner(store);
  onTestFinished(() => runner.close());
  const mesh = featureTerms("mesh", { floating: { slots: 1, timeoutMinutes: 25 } });
  const sizes = { slots: 2, timeoutMinutes: 30, borrowHours: null };
  await transactOrThrow(store, install(1, { ...sizes, features: [mesh] }));
  const count = new EpisodeCount();
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const at = clock.now;
    const commands = Array.from({ length: random.intBetween(1, 12) }, () =>
      randomDemandCommand(random),
    );
    const results = await Promise.all(
      commands.map((command) => runner.runCommand(command, null, passOutcome)),
    );
    for (const [index, command] of commands.entries()) {
      const result = results[index];
      const ofProduct = `${command.user} null`;
      const ofFeature = `${command.user} mesh`;
      const wanted = command.type === "FeatureRegister" ? ofFeature : ofProduct;
      const isWish = command.type === "Register" || command.type === "FeatureRegister";
      if (result?.ok !== true) {
        if (isWish && result?.fault.code === "floating_not_available") count.refuse(wanted, at);
      } else if (isWish) count.settle(wanted, "granted", at);
      else {
        count.settle(ofFeature, "left", at);
        if (command.type === "Unregister") count.settle(ofProduct, "left", at);
      }
    }
    if (random.chance(0.2)) await runner.recordRefusals();
    const step = random.chance(0.9) ? random.intBetween(0, 200) * SECOND : 13 * MINUTE;
    clock.now = later(clock.now, step);
  }
  clock.now = later(clock.now, 30 * MINUTE);
  await runner.recordRefusals();
  const lines = readJournal(folder).map(({ line }) => line);
  const ended = lines.flatMap(({ events }) =>
    events.filter((event) => event.type === "EpisodeEnded"),
  );
  return { lines, ended, counted: count.finish() };
}

test.each([1, 2, 3, 4, 5, 6])(
  "episodes of random demand are those of a second count, at their place in the journal (seed %d)",
  async (seed) => {
    const { lines, ended, counted } = await runDemand(seed);
    expect(ended.map(describeEpisode).toSorted()).toEqual(counted);
    expect(ended.length).toBeGreaterThan(50);
    const refusals = ended.flatMap(({ user, feature, firstSeq, firstAt, lastSeq, lastAt }) => {
      const command = feature === null ? register(user) : registerFeature(user, feature);
      return [
        { command, seq: firstSeq, at: firstAt },
        { command, seq: lastSeq, at: lastAt },
      ];
    });
    const state = makeNewSite();
    let seq = 0;
    for (const refusal of refusals.toSorted((a, b) => a.seq - b.seq)) {
      for (const { events } of lines.slice(seq, refusal.seq)) {
        for (const event of events) evolve(state, event);
      }
      ({ seq } = refusal);
      const decision = decide(state, refusal.command, contextAt(refusal.at));
      expect(decision.ok ? "granted" : decision.fault.code).toBe("floating_not_available");
    }
  },
);
