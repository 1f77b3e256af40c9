import { describe, expect, test } from "bun:test";
import { demandKey, type Demand, type Episode } from "../../../src/domain/model/demand/episode.ts";
import type { Event } from "../../../src/domain/model/event.ts";
import { limits } from "../../../src/domain/model/limits.ts";
import { DAY, later, MINUTE, SECOND, type Instant } from "../../../src/domain/time.ts";
import { EpisodeTracker } from "../../../src/operations/demand/episode-tracker.ts";
import {
  deniedEpisode,
  featureTerms,
  hoursLater,
  justBefore,
  licenseInstalled,
  minutesLater,
  MONDAY,
  replayEvents,
  slotTaken,
} from "../../support/scenario.ts";

const ADA: Demand = { product: "cad", feature: null, user: "ada" };
const ADA_MESH: Demand = { product: "cad", feature: "mesh", user: "ada" };
const BOB: Demand = { product: "cad", feature: null, user: "bob" };
const PEER = "10.0.0.7";

function refuse(tracker: EpisodeTracker, demand: Demand, at: Instant, seq = 5, mayBegin = true) {
  const refusal = { code: "floating_not_available", rule: null, peer: PEER, at, seq };
  tracker.addRefusal(demand, refusal, () => mayBegin);
}

/** A state with these open episodes. */
const openOnly = (episodes: readonly Episode[]) => ({
  openEpisodes: new Map(episodes.map((episode) => [demandKey(episode), episode])),
  endedEpisodes: new Map(),
});

const takeEnded = (tracker: EpisodeTracker) => tracker.takeEnded(Infinity);
const takeChanged = (tracker: EpisodeTracker) => tracker.takeChanged(Infinity);

describe("EpisodeTracker", () => {
  test("makes one episode of 50 retries of one user", () => {
    const tracker = new EpisodeTracker();
    for (let attempt = 0; attempt < 50; attempt += 1) {
      refuse(tracker, ADA, later(MONDAY, attempt * SECOND), 5 + attempt);
    }
    tracker.endEpisode(ADA, "granted", minutesLater(4));
    expect(takeEnded(tracker)).toEqual([
      {
        ...ADA,
        code: "floating_not_available",
        rule: null,
        peer: PEER,
        firstAt: MONDAY,
        lastAt: later(MONDAY, 49 * SECOND),
        attempts: 50,
        firstSeq: 5,
        lastSeq: 54,
        outcome: "granted",
        endedAt: minutesLater(4),
      },
    ]);
    expect(takeChanged(tracker)).toEqual([]);
    expect(tracker.openCount).toBe(0);
  });

  test("separates users, products and features", () => {
    const tracker = new EpisodeTracker();
    const demands = [ADA, ADA_MESH, BOB, { ...ADA, product: "cam" }];
    for (const demand of [...demands, ...demands]) refuse(tracker, demand, MONDAY);
    expect(takeChanged(tracker)).toMatchObject(
      demands.map((demand) => ({ ...demand, attempts: 2 })),
    );
    tracker.endEpisode(ADA_MESH, "granted", minutesLater(1));
    expect(takeEnded(tracker)).toMatchObject([{ ...ADA_MESH, outcome: "granted" }]);
    expect(tracker.openCount).toBe(3);
  });

  test("has the code, the rule and the address of the last refusal", () => {
    const tracker = new EpisodeTracker();
    refuse(tracker, ADA, MONDAY);
    const last = { code: "slots_capped", rule: "max_slots_per_user = 3", peer: "10.0.0.8" };
    tracker.addRefusal(ADA, { ...last, at: minutesLater(1), seq: 9 }, () => true);
    expect(takeChanged(tracker)).toMatchObject([{ ...last, attempts: 2, firstSeq: 5, lastSeq: 9 }]);
  });

  test("begins another episode with a retry after ten minutes of silence", () => {
    const tracker = new EpisodeTracker();
    refuse(tracker, ADA, MONDAY, 5);
    refuse(tracker, ADA, minutesLater(10), 6);
    expect(takeEnded(tracker)).toMatchObject([
      { attempts: 1, firstAt: MONDAY, outcome: "gave_up", endedAt: MONDAY },
    ]);
    expect(takeChanged(tracker)).toMatchObject([
      { attempts: 1, firstAt: minutesLater(10), firstSeq: 6 },
    ]);
  });

  test("continues an episode one millisecond before ten minutes of silence", () => {
    const tracker = new EpisodeTracker();
    refuse(tracker, ADA, MONDAY);
    refuse(tracker, ADA, justBefore(minutesLater(10)));
    expect(takeEnded(tracker)).toEqual([]);
    expect(takeChanged(tracker)).toMatchObject([{ attempts: 2, firstAt: MONDAY }]);
  });

  test("ends an episode that is silent for ten minutes as given up at its last refusal", () => {
    const tracker = new EpisodeTracker();
    refuse(tracker, ADA, MONDAY);
    refuse(tracker, BOB, minutesLater(1));
    refuse(tracker, ADA, minutesLater(2));
    tracker.endSilent(justBefore(minutesLater(11)));
    expect(takeEnded(tracker)).toEqual([]);
    tracker.endSilent(minutesLater(11));
    expect(takeEnded(tracker)).toMatchObject([
      { ...BOB, outcome: "gave_up", endedAt: minutesLater(1) },
    ]);
    tracker.endSilent(minutesLater(12));
    expect(takeEnded(tracker)).toMatchObject([
      { ...ADA, attempts: 2, outcome: "gave_up", endedAt: minutesLater(2) },
    ]);
  });

  test("keeps why the first call was refused, if the last one was refused otherwise", () => {
    const tracker = new EpisodeTracker();
    const calls = [
      { code: "slots_capped", rule: "max_slots_per_user = 1", peer: "10.0.0.1" },
      { code: "slots_capped", rule: "max_slots_per_user = 1", peer: "10.0.0.2" },
      { code: "floating_not_available", rule: null, peer: "10.0.0.2" },
    ];
    for (const [minute, call] of calls.entries())
      tracker.addRefusal(ADA, { ...call, at: minutesLater(minute), seq: minute }, () => true);
    tracker.endEpisode(ADA, "granted", minutesLater(4));
    expect(takeEnded(tracker)).toMatchObject([{ ...calls[2], attempts: 3, first: calls[0] }]);
  });

  test("does not call a slot after ten minutes of silence granted", () => {
    const tracker = new EpisodeTracker();
    refuse(tracker, ADA, MONDAY);
    tracker.endEpisode(ADA, "granted", minutesLater(10));
    expect(takeEnded(tracker)).toMatchObject([{ outcome: "gave_up", endedAt: MONDAY }]);
  });

  test("ends an episode of a user who left", () => {
    const tracker = new EpisodeTracker();
    refuse(tracker, ADA, MONDAY);
    tracker.endEpisode(ADA, "left", minutesLater(3));
    expect(takeEnded(tracker)).toMatchObject([{ outcome: "left", endedAt: minutesLater(3) }]);
  });

  test("ends an episode after a day of retries, and begins another", () => {
    const tracker = new EpisodeTracker();
    for (let minute = 0; minute <= DAY / MINUTE; minute += 5) {
      refuse(tracker, ADA, minutesLater(minute));
    }
    expect(takeEnded(tracker)).toMatchObject([
      { attempts: 288, firstAt: MONDAY, outcome: "gave_up", endedAt: minutesLater(24 * 60 - 5) },
    ]);
    expect(takeChanged(tracker)).toMatchObject([{ attempts: 1, firstAt: hoursLater(24) }]);
  });

  test("ignores a slot of a user without an episode", () => {
    const tracker = new EpisodeTracker();
    refuse(tracker, ADA, MONDAY);
    tracker.endEpisode(BOB, "granted", MONDAY);
    tracker.endEpisode(ADA_MESH, "granted", MONDAY);
    expect(takeEnded(tracker)).toEqual([]);
  });

  test("does not begin an episode that its address may not add to the audit log", () => {
    const tracker = new EpisodeTracker();
    refuse(tracker, ADA, MONDAY, 5, false);
    expect(tracker.openCount).toBe(0);
    refuse(tracker, ADA, MONDAY, 5, true);
    refuse(tracker, ADA, MONDAY, 5, false);
    expect(takeChanged(tracker)).toMatchObject([{ attempts: 2 }]);
  });

  test("has at most 100,000 open episodes, and still adds refusals to those", () => {
    const tracker = new EpisodeTracker();
    for (let user = 0; user <= limits.openEpisodes; user += 1) {
      refuse(tracker, { ...ADA, user: `user-${user}` }, MONDAY);
    }
    expect(tracker.openCount).toBe(100_000);
    refuse(tracker, { ...ADA, user: "user-0" }, minutesLater(1));
    expect(takeChanged(tracker)).toHaveLength(100_000);
    tracker.endEpisode({ ...ADA, user: "user-1" }, "granted", minutesLater(1));
    refuse(tracker, ADA, minutesLater(1));
    expect(takeChanged(tracker)).toMatchObject([ADA]);
  });

  test("moves open episodes to the time that the clock was set back to", () => {
    const tracker = new EpisodeTracker();
    refuse(tracker, ADA, hoursLater(5));
    refuse(tracker, BOB, hoursLater(6));
    refuse(tracker, ADA, minutesLater(30));
    expect(takeEnded(tracker)).toEqual([]);
    expect(takeChanged(tracker)).toMatchObject([
      { ...ADA, attempts: 2, firstAt: minutesLater(30), lastAt: minutesLater(30) },
      { ...BOB, attempts: 1, firstAt: minutesLater(30), lastAt: minutesLater(30) },
    ]);
    tracker.endSilent(minutesLater(40));
    expect(
      takeEnded(tracker)
        .map(({ user }) => user)
        .toSorted(),
    ).toEqual(["ada", "bob"]);
  });

  test("gives each change for writing once, in parts", () => {
    const tracker = new EpisodeTracker();
    for (const demand of [ADA, BOB, ADA_MESH]) refuse(tracker, demand, MONDAY);
    expect(tracker.takeChanged(2)).toMatchObject([ADA, BOB]);
    refuse(tracker, ADA, minutesLater(1));
    expect(tracker.takeChanged(2)).toMatchObject([ADA_MESH, { ...ADA, attempts: 2 }]);
    expect(tracker.takeChanged(2)).toEqual([]);
  });

  test("gives no episode for writing that ended since it changed", () => {
    const tracker = new EpisodeTracker();
    for (const demand of [ADA, BOB, ADA_MESH]) refuse(tracker, demand, MONDAY);
    tracker.endEpisode(ADA, "granted", MONDAY);
    refuse(tracker, ADA, MONDAY);
    tracker.endEpisode(BOB, "granted", MONDAY);
    expect(tracker.takeChanged(1)).toMatchObject([ADA_MESH]);
    expect(tracker.takeChanged(1)).toMatchObject([{ ...ADA, attempts: 1 }]);
    expect(tracker.takeChanged(1)).toEqual([]);
  });

  test("gives again what could not be written, unless the episode has ended since", () => {
    const tracker = new EpisodeTracker();
    refuse(tracker, ADA, MONDAY);
    refuse(tracker, BOB, MONDAY);
    refuse(tracker, ADA_MESH, MONDAY);
    tracker.endEpisode(ADA_MESH, "left", MONDAY);
    const [ended, changed] = [takeEnded(tracker), takeChanged(tracker)];
    tracker.endEpisode(BOB, "granted", minutesLater(1));
    tracker.restore(ended, changed);
    expect(takeEnded(tracker)).toMatchObject([ADA_MESH, BOB]);
    expect(takeChanged(tracker)).toMatchObject([ADA]);
  });

  test("counts started and ended episodes by product and feature, without users", () => {
    const tracker = new EpisodeTracker();
    tracker.continue(openOnly([deniedEpisode({ user: "eve" })]));
    for (const demand of [ADA, ADA, BOB, ADA_MESH]) refuse(tracker, demand, minutesLater(1));
    tracker.endEpisode(ADA, "granted", minutesLater(2));
    tracker.endEpisode(ADA_MESH, "left", minutesLater(2));
    tracker.endSilent(minutesLater(10));
    expect(tracker.counts.list()).toEqual([
      {
        product: "cad",
        feature: null,
        open: 1,
        started: 2,
        ended: { granted: 1, gave_up: 1, left: 0 },
      },
      {
        product: "cad",
        feature: "mesh",
        open: 0,
        started: 1,
        ended: { granted: 0, gave_up: 0, left: 1 },
      },
    ]);
  });
});

describe("EpisodeTracker after a restart", () => {
  const mesh = featureTerms("mesh", { floating: { slots: 1, timeoutMinutes: 30 } });
  const licensed = licenseInstalled(1, { features: [mesh] });

  function resume(...events: Event[]): EpisodeTracker {
    const tracker = new EpisodeTracker();
    tracker.continue(
      openOnly([
        deniedEpisode({ attempts: 7, lastAt: minutesLater(3) }),
        deniedEpisode({ feature: "mesh" }),
      ]),
    );
    tracker.endGranted(replayEvents([licensed, ...events]));
    return tracker;
  }

  test("continues an open episode", () => {
    const tracker = resume();
    expect(takeChanged(tracker)).toEqual([]);
    refuse(tracker, ADA, minutesLater(9), 20);
    expect(takeChanged(tracker)).toEqual([
      deniedEpisode({ attempts: 8, lastAt: minutesLater(9), lastSeq: 20, peer: PEER }),
    ]);
  });

  test("ends an episode as granted if its user took a slot after its last refusal", () => {
    const taken = slotTaken("ada", { at: minutesLater(4) });
    expect(takeEnded(resume(taken))).toMatchObject([
      { feature: null, attempts: 7, outcome: "granted", endedAt: minutesLater(4) },
    ]);
  });

  test("does not end an episode by a slot that its user had before", () => {
    expect(takeEnded(resume(slotTaken("ada", { at: minutesLater(2) })))).toEqual([]);
  });

  test("does not end the episode of a feature by a slot of its product", () => {
    const taken: Event = {
      type: "FeatureTaken",
      at: minutesLater(5),
      license: 1,
      feature: "mesh",
      user: "ada",
      slot: 2,
      end: hoursLater(1),
      timeoutAt: hoursLater(1),
      peer: PEER,
    };
    const tracker = resume(slotTaken("ada", { at: minutesLater(2) }), taken);
    expect(takeEnded(tracker)).toMatchObject([{ feature: "mesh", outcome: "granted" }]);
  });

  test("ends an episode as given up if its user took a slot ten minutes after it", () => {
    expect(takeEnded(resume(slotTaken("ada", { at: minutesLater(13) })))).toMatchObject([
      { outcome: "gave_up", endedAt: minutesLater(3) },
    ]);
  });

  test("ends first the episode that was silent for longest, whatever the order in the state", () => {
    const tracker = new EpisodeTracker();
    tracker.continue(
      openOnly([deniedEpisode({ lastAt: minutesLater(5) }), deniedEpisode({ user: "bob" })]),
    );
    tracker.endSilent(minutesLater(10));
    expect(takeEnded(tracker)).toMatchObject([{ user: "bob" }]);
  });
});
