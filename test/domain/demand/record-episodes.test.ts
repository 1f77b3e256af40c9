import { describe, expect, test } from "bun:test";
import { demandKey, type EpisodesObserved } from "../../../src/domain/model/demand/episode.ts";
import { personOf } from "../../../src/domain/model/slots/person.ts";
import { isAudited } from "../../../src/domain/event-catalogue.ts";
import type { Event } from "../../../src/domain/model/event.ts";
import { limits } from "../../../src/domain/model/limits.ts";
import type { Instant } from "../../../src/domain/time.ts";
import { transact } from "../../../src/domain/transact.ts";
import { decodeSnapshot, encodeSnapshot } from "../../../src/store/state/state-rows.ts";
import { emptyAuditLogEnd } from "../../../src/store/state/snapshot.ts";
import { genesisHead } from "../../../src/store/journal/journal.ts";
import { contextAt } from "../../support/rule-context.ts";
import {
  deniedEpisode,
  given,
  hoursLater,
  licenseInstalled,
  minutesLater,
  MONDAY,
  replayEvents,
} from "../../support/scenario.ts";

const observed = (at: Instant, ...episodes: EpisodesObserved["episodes"]): EpisodesObserved => ({
  type: "EpisodesObserved",
  at,
  episodes,
});

const listOpen = (events: readonly Event[]) => [...replayEvents(events).openEpisodes.values()];

describe("open episodes", () => {
  test("are those last observed, by product, feature and user", () => {
    const retried = deniedEpisode({ attempts: 7, lastAt: minutesLater(3), lastSeq: 9 });
    const feature = deniedEpisode({ feature: "MESH" });
    const bob = deniedEpisode({ user: "bob" });
    expect(
      listOpen([observed(MONDAY, deniedEpisode(), feature), observed(MONDAY, bob, retried)]),
    ).toEqual([retried, feature, bob]);
  });

  test("are observed by an event that is not audited, and ended by one that is", () => {
    const ended = given(observed(MONDAY, deniedEpisode()))
      .at(minutesLater(2))
      .execute({
        type: "EndEpisodes",
        episodes: [{ ...deniedEpisode(), outcome: "granted", endedAt: minutesLater(1) }],
      });
    expect(ended.events.map((event) => [event.type, isAudited(event)])).toEqual([
      ["EpisodesObserved", false],
      ["EpisodeEnded", true],
    ]);
    expect(listOpen(ended.events)).toEqual([]);
  });

  test("of other demands stay open when one ends", () => {
    const others = [deniedEpisode({ feature: "MESH" }), deniedEpisode({ user: "bob" })];
    const ended: Event = {
      type: "EpisodeEnded",
      at: MONDAY,
      ...deniedEpisode(),
      outcome: "left",
      endedAt: MONDAY,
    };
    expect(listOpen([observed(MONDAY, deniedEpisode(), ...others), ended])).toEqual(others);
  });

  test("have no time after the clock that was set back", () => {
    const [before, after] = listOpen([
      observed(
        hoursLater(2),
        deniedEpisode({ lastAt: minutesLater(30) }),
        deniedEpisode({ user: "bob", firstAt: hoursLater(1), lastAt: hoursLater(2) }),
      ),
      {
        type: "ClockSetBack",
        at: minutesLater(45),
        from: hoursLater(2),
        to: minutesLater(45),
        peer: "socket",
      },
    ]);
    expect(before).toMatchObject({ firstAt: MONDAY, lastAt: minutesLater(30) });
    expect(after).toMatchObject({ firstAt: minutesLater(45), lastAt: minutesLater(45) });
  });

  test("are restored from state.json", () => {
    const episodes = [deniedEpisode(), deniedEpisode({ feature: "MESH", rule: "x = 1" })];
    const state = replayEvents([observed(MONDAY, ...episodes)]);
    const snapshot = encodeSnapshot(state, genesisHead, emptyAuditLogEnd);
    expect(snapshot.episodes).toEqual(episodes);
    expect(decodeSnapshot(snapshot).openEpisodes).toEqual(state.openEpisodes);
  });
});

describe("ObserveEpisodes", () => {
  test("records times that are not after the present", () => {
    given(licenseInstalled(1))
      .at(MONDAY)
      .when({
        type: "ObserveEpisodes",
        episodes: [deniedEpisode({ firstAt: hoursLater(-1), lastAt: hoursLater(1) })],
      })
      .records(observed(MONDAY, deniedEpisode({ firstAt: hoursLater(-1), lastAt: MONDAY })))
      .answers(null);
  });

  test("records at most 100,000 open episodes, and still those that are open", () => {
    const state = replayEvents([
      observed(
        MONDAY,
        ...Array.from({ length: limits.openEpisodes - 1 }, (_, index) =>
          deniedEpisode({ user: `user-${index}` }),
        ),
      ),
    ]);
    expect(limits.openEpisodes).toBe(100_000);
    const episodes = [
      deniedEpisode({ user: "last" }),
      deniedEpisode({ user: "too many" }),
      deniedEpisode({ user: "user-0", attempts: 2 }),
    ];
    transact(state, { type: "ObserveEpisodes", episodes }, contextAt(MONDAY));
    expect(state.openEpisodes.size).toBe(100_000);
    expect(state.openEpisodes.has(demandKey(deniedEpisode({ user: "last" })))).toBe(true);
    expect(state.openEpisodes.get(demandKey(deniedEpisode({ user: "user-0" })))?.attempts).toBe(2);
  });
});

describe("EndEpisodes", () => {
  test("records the whole episode with its outcome, and no time after the present", () => {
    const episode = deniedEpisode({ feature: "MESH", attempts: 50, lastAt: minutesLater(4) });
    given(licenseInstalled(1))
      .at(minutesLater(5))
      .when({
        type: "EndEpisodes",
        episodes: [{ ...episode, outcome: "granted", endedAt: minutesLater(9) }],
      })
      .records({
        type: "EpisodeEnded",
        at: minutesLater(5),
        ...episode,
        outcome: "granted",
        endedAt: minutesLater(5),
      })
      .answers(null);
  });

  test("records nothing without episodes", () => {
    given(licenseInstalled(1)).at(MONDAY).when({ type: "EndEpisodes", episodes: [] }).records();
  });
});

test.each([
  ["ada", "ada"],
  ["ada#2", "ada"],
  ["ada#2#3", "ada"],
  ["#ada", "#ada"],
  ["#ada#2", "#ada"],
  ["", ""],
])("personOf %p is %p", (user, person) => {
  expect(personOf(user)).toBe(person);
});
