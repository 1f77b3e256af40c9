import { describe, expect, test } from "bun:test";
import type { Instant } from "../../../src/domain/time.ts";
import { EpisodeTracker } from "../../../src/operations/demand/episode-tracker.ts";
import { EpisodeWriter } from "../../../src/operations/demand/episode-writer.ts";
import type { Store } from "../../../src/store/store.ts";
import { FaultyDisk } from "../../support/faulty-disk.ts";
import { openLicensedSite, readJournal, transactOrThrow } from "../../support/licensed-store.ts";
import { minutesLater, MONDAY } from "../../support/scenario.ts";
import { waitUntil } from "../../support/wait-until.ts";

function refuse(tracker: EpisodeTracker, user: string, at: Instant): void {
  const refusal = { code: "floating_not_available", rule: null, peer: "10.0.0.7", at, seq: 1 };
  tracker.addRefusal({ product: "cad", feature: null, user }, refusal, () => true);
}

const listOpenUsers = (store: Store): string[] =>
  store.peek(({ openEpisodes }) => [...openEpisodes.values()].map(({ user }) => user));

describe("EpisodeWriter", () => {
  test("writes the end of an episode before the next one of its demand", async () => {
    const { store, clock } = await openLicensedSite();
    const tracker = new EpisodeTracker();
    for (let user = 0; user < 600; user += 1) refuse(tracker, `user-${user}`, MONDAY);
    clock.now = minutesLater(20);
    tracker.endSilent(minutesLater(20));
    // Its end is in the second line of ended episodes.
    refuse(tracker, "user-599", minutesLater(20));
    await new EpisodeWriter(store, tracker).write();
    expect(listOpenUsers(store)).toEqual(["user-599"]);
  });

  test("writes again what a full disk refused, once", async () => {
    const disk = new FaultyDisk();
    const { folder, store } = await openLicensedSite({ disk });
    const tracker = new EpisodeTracker();
    const writer = new EpisodeWriter(store, tracker);
    refuse(tracker, "ada", MONDAY);
    refuse(tracker, "bob", MONDAY);
    tracker.endEpisode({ product: "cad", feature: null, user: "bob" }, "granted", MONDAY);
    disk.bytesLeft = 0;
    await writer.write();
    expect(store.status().fault?.code).toBe("storage_full");
    await writer.write();
    disk.bytesLeft = Infinity;
    await waitUntil(() => store.status().fault === null);
    await writer.write();
    await writer.write();
    expect(listOpenUsers(store)).toEqual(["ada"]);
    const events = readJournal(folder).flatMap(({ line }) => line.events);
    expect(events.map(({ type }) => type).filter((type) => type.startsWith("Episode"))).toEqual([
      "EpisodeEnded",
      "EpisodesObserved",
    ]);
  });

  test("forgets the episodes of an appliance that was moved away", async () => {
    const { store } = await openLicensedSite();
    const tracker = new EpisodeTracker();
    for (const user of ["ada", "bob"]) refuse(tracker, user, MONDAY);
    await transactOrThrow(store, { type: "MoveAway", move: "m", peer: "socket" });
    await new EpisodeWriter(store, tracker).write();
    expect([tracker.openCount, tracker.endedCount]).toEqual([0, 0]);
  });
});
