// Denied episodes of a running server: from the refused command to the journal, and over restarts.
import { describe, expect, onTestFinished, test } from "bun:test";
import type { Command, OutcomeOf } from "../../../src/domain/decide.ts";
import {
  listUnrecorded,
  type Episode,
  type EpisodeEnded,
} from "../../../src/domain/model/demand/episode.ts";
import type { Event } from "../../../src/domain/model/event.ts";
import type { Fault } from "../../../src/domain/model/fault.ts";
import type { TakePlace } from "../../../src/domain/queue/dispatch/take-place.ts";
import type { Result } from "../../../src/domain/result.ts";
import type { SlotCaps } from "../../../src/domain/model/rule-context.ts";
import { later, type Instant } from "../../../src/domain/time.ts";
import { AuditBudget } from "../../../src/operations/audit/audit-budget.ts";
import { CommandRunner, passOutcome } from "../../../src/operations/command-runner.ts";
import type { StorageFault } from "../../../src/store/journal/storage-fault.ts";
import type { StoreOptions } from "../../../src/store/store-options.ts";
import type { Store } from "../../../src/store/store.ts";
import { FaultyDisk } from "../../support/faulty-disk.ts";
import { openSite, readJournal, transactOrThrow } from "../../support/licensed-store.ts";
import { holdProcessClock } from "../../support/process-clock.ts";
import {
  CONTACT,
  featureTerms,
  hoursLater,
  install,
  minutesLater,
  MONDAY,
  register,
  registerFeature,
  releaseFeature,
  unregister,
} from "../../support/scenario.ts";
import { copyFolder } from "../../support/temp-folder.ts";
import { waitUntil } from "../../support/wait-until.ts";

const NO_SLOT = "floating_not_available";

interface DemandSite {
  readonly folder: string;
  readonly store: Store;
  readonly clock: { now: Instant };
  readonly runner: CommandRunner;
  run<C extends Command>(command: C): Promise<Result<OutcomeOf<C>, Fault | StorageFault>>;
  /** Runs a command that must be refused, and returns the code. */
  refuse(command: Command): Promise<string>;
  stop(): Promise<void>;
}

/** Two slots of cad, held by eve and fay, and one slot of its feature mesh, held by eve. */
async function openDemandSite(
  differing: Partial<StoreOptions> = {},
  budget?: AuditBudget,
): Promise<DemandSite> {
  const isNew = differing.folder === undefined;
  const { folder, store, clock, stop } = await openSite(differing);
  const runner = new CommandRunner(store, budget);
  onTestFinished(() => runner.close());
  const mesh = featureTerms("mesh", { floating: { slots: 1, timeoutMinutes: 120 } });
  if (isNew) {
    const sizes = { slots: 2, timeoutMinutes: 120, borrowHours: null };
    await transactOrThrow(store, install(1, { ...sizes, features: [mesh] }));
    await transactOrThrow(store, register("eve"));
    await transactOrThrow(store, register("fay"));
    await transactOrThrow(store, registerFeature("eve", "mesh"));
  }
  const run = <C extends Command>(command: C) =>
    runner.runCommand(command, CONTACT.peer, passOutcome<OutcomeOf<C>>);
  return {
    folder,
    store,
    clock,
    runner,
    run,
    async refuse(command) {
      const result = await run(command);
      if (result.ok) throw new Error(`${command.type} was not refused`);
      return result.fault.code;
    },
    async stop() {
      await runner.close();
      await stop();
    },
  };
}

const listOpen = (store: Store): Episode[] =>
  store.peek(({ openEpisodes }) => [...openEpisodes.values()]);

const eventsIn = (folder: string): Event[] =>
  readJournal(folder).flatMap(({ line }) => line.events);

const endedIn = (folder: string): EpisodeEnded[] =>
  eventsIn(folder).filter((event) => event.type === "EpisodeEnded");

describe("denied episodes of a running server", () => {
  test("make one line of the audit log of 50 retries, which are 50 counted refusals", async () => {
    const { folder, store, clock, runner, run, refuse } = await openDemandSite();
    const seq = store.status().seq;
    for (let attempt = 0; attempt < 50; attempt += 1) {
      expect(await refuse(register("ada"))).toBe(NO_SLOT);
      clock.now = later(clock.now, 1_000);
    }
    expect(store.status().seq).toBe(seq);
    await run(unregister("fay"));
    expect((await run(register("ada"))).ok).toBe(true);
    await runner.recordRefusals();
    expect(endedIn(folder)).toEqual([
      {
        type: "EpisodeEnded",
        at: clock.now,
        product: "cad",
        feature: null,
        user: "ada",
        code: NO_SLOT,
        rule: null,
        peer: CONTACT.peer,
        firstAt: MONDAY,
        lastAt: later(MONDAY, 49_000),
        attempts: 50,
        firstSeq: seq,
        lastSeq: seq,
        outcome: "granted",
        endedAt: later(MONDAY, 50_000),
      },
    ]);
    expect(eventsIn(folder)).toContainEqual(
      expect.objectContaining({ type: "RefusalsCounted", code: NO_SLOT, count: 50 }),
    );
  });

  test("are journaled each minute while they are open, but not audited", async () => {
    const { folder, store, clock, runner, refuse } = await openDemandSite();
    await refuse(register("ada"));
    await runner.recordRefusals();
    clock.now = minutesLater(1);
    await refuse(register("ada", { nonceDigest: "a".repeat(64) }));
    await runner.recordRefusals();
    expect(listOpen(store)).toMatchObject([{ user: "ada", attempts: 2, lastAt: minutesLater(1) }]);
    const seq = store.status().seq;
    await runner.recordRefusals();
    expect(store.status().seq).toBe(seq);
    const lines = readJournal(folder).map(({ line }) => line);
    const observed = lines.filter(({ events }) =>
      events.some(({ type }) => type === "EpisodesObserved"),
    );
    expect(observed.map(({ audit_seq }) => audit_seq)).toEqual([undefined, undefined]);
  });

  test("are written once, and so are the counts, if the disk does not answer meanwhile", async () => {
    const disk = new FaultyDisk();
    const { folder, runner, refuse } = await openDemandSite({ disk });
    await refuse(register("ada"));
    const clock = holdProcessClock();
    const syncs = disk.block("syncData");
    const writing = runner.recordRefusals();
    await waitUntil(() => syncs.count === 1);
    const waiting = refuse(register("bob"));
    clock.ms += 15_001;
    expect(await waiting).toBe("storage_failed");
    syncs.releaseAll();
    await writing;
    await runner.recordRefusals();
    const counted = eventsIn(folder).filter((event) => event.type === "RefusalsCounted");
    expect(counted.map(({ code, count }) => [code, count])).toEqual([
      [NO_SLOT, 1],
      ["storage_failed", 1],
    ]);
    const observed = eventsIn(folder).filter((event) => event.type === "EpisodesObserved");
    expect(observed).toHaveLength(1);
  });

  test("end as given up ten minutes after the last retry", async () => {
    const { folder, store, clock, runner, refuse } = await openDemandSite();
    await refuse(register("ada"));
    await runner.recordRefusals();
    clock.now = minutesLater(9);
    await runner.recordRefusals();
    expect(endedIn(folder)).toEqual([]);
    clock.now = minutesLater(10);
    await runner.recordRefusals();
    expect(endedIn(folder)).toMatchObject([
      { user: "ada", outcome: "gave_up", endedAt: MONDAY, at: minutesLater(10) },
    ]);
    expect(listOpen(store)).toEqual([]);
  });

  test("of a feature are separate from those of its product, and so are the counts", async () => {
    const { folder, clock, runner, run, refuse } = await openDemandSite();
    expect(await refuse(registerFeature("fay", "mesh"))).toBe(NO_SLOT);
    expect(await refuse(register("ada"))).toBe(NO_SLOT);
    clock.now = minutesLater(1);
    await run(register("fay"));
    await run(releaseFeature("eve", "mesh"));
    expect((await run(registerFeature("fay", "mesh"))).ok).toBe(true);
    await runner.recordRefusals();
    expect(endedIn(folder)).toMatchObject([
      { product: "cad", feature: "mesh", user: "fay", outcome: "granted" },
    ]);
    const counted = eventsIn(folder).filter((event) => event.type === "RefusalsCounted");
    expect(counted.map(({ product, feature, users }) => [product, feature, users])).toEqual([
      ["cad", "mesh", ["fay"]],
      ["cad", undefined, ["ada"]],
    ]);
  });

  test("are not begun by a refusal for another reason", async () => {
    const { folder, store, runner, refuse } = await openDemandSite();
    expect(await refuse(registerFeature("ada", "mesh"))).toBe("user_not_registered");
    expect(await refuse(registerFeature("fay", "none"))).toBe("invalid_license_feature_code");
    expect(await refuse(register(null))).toBe("missing_parameters");
    expect(await refuse(unregister("ada"))).toBe("user_not_registered");
    await runner.recordRefusals();
    expect(listOpen(store)).toEqual([]);
    const counted = eventsIn(folder).filter((event) => event.type === "RefusalsCounted");
    expect(counted.map(({ feature, code }) => [feature, code])).toEqual([
      ["mesh", "user_not_registered"],
      [undefined, "invalid_license_feature_code"],
      [undefined, "missing_parameters"],
      [undefined, "user_not_registered"],
    ]);
  });

  test("name the operator's limit that refused, with its value", async () => {
    let caps: SlotCaps = { perUser: null, perPeer: null };
    const { store, runner, run, refuse } = await openDemandSite({ caps: () => caps });
    const contact = { ...CONTACT, peer: "10.0.0.8" };
    await run(unregister("fay"));
    caps = { perUser: null, perPeer: 0 };
    expect(await refuse(register("ada", { contact }))).toBe("slots_capped");
    await runner.recordRefusals();
    expect(listOpen(store)).toMatchObject([
      { code: "slots_capped", rule: "max_slots_per_peer = 0", peer: "10.0.0.8" },
    ]);
  });

  test("end as left when the user releases the slot of the product", async () => {
    const { folder, runner, run, refuse, clock } = await openDemandSite();
    await refuse(registerFeature("fay", "mesh"));
    clock.now = minutesLater(2);
    await run(unregister("fay"));
    await runner.recordRefusals();
    expect(endedIn(folder)).toMatchObject([
      { feature: "mesh", user: "fay", outcome: "left", endedAt: minutesLater(2) },
    ]);
  });

  test("stay open when an administrator releases the slot, or nothing is released", async () => {
    const { folder, store, runner, run, refuse } = await openDemandSite();
    await refuse(registerFeature("fay", "mesh"));
    await refuse(register("ada"));
    await run(unregister("fay", { by: "admin" }));
    await refuse(unregister("ada"));
    await runner.recordRefusals();
    expect(endedIn(folder)).toEqual([]);
    expect(listOpen(store)).toHaveLength(2);
  });

  test("are found for a request without a product, if only one is installed", async () => {
    const { store, runner, run, refuse } = await openDemandSite();
    await refuse(register("ada", { product: null }));
    await refuse(register("ada"));
    await runner.recordRefusals();
    expect(listOpen(store)).toMatchObject([{ product: "cad", attempts: 2 }]);
    await run(unregister("fay", { product: null }));
    await run(register("ada", { product: null }));
    await runner.recordRefusals();
    expect(listOpen(store)).toEqual([]);
  });

  test("are written when the server stops", async () => {
    const { folder, refuse, stop } = await openDemandSite();
    await refuse(register("ada"));
    await stop();
    const next = await openDemandSite({ folder });
    expect(listOpen(next.store)).toMatchObject([{ user: "ada", attempts: 1 }]);
  });

  test("are written before a minute is over when 500 have ended", async () => {
    const { folder, run, refuse } = await openDemandSite();
    for (let user = 0; user < 500; user += 1) {
      await refuse(register(`user-${user}`));
      await run(unregister("fay"));
      await run(register(`user-${user}`));
      await run(unregister(`user-${user}`));
      await run(register("fay"));
    }
    await waitUntil(() => endedIn(folder).length > 0);
    expect(endedIn(folder)).toHaveLength(500);
  });

  test("are written in lines of at most 500", async () => {
    const { folder, store, clock, runner, run } = await openDemandSite();
    await Promise.all(Array.from({ length: 1_234 }, (_, user) => run(register(`user-${user}`))));
    await runner.recordRefusals();
    clock.now = minutesLater(20);
    await runner.recordRefusals();
    const sizes = (type: string) =>
      readJournal(folder)
        .map(({ line }) => line.events.filter((event) => event.type === type))
        .filter((events) => events.length > 0);
    expect(sizes("EpisodeEnded").map(({ length }) => length)).toEqual([500, 500, 234]);
    expect(sizes("EpisodesObserved").flat()).toMatchObject([
      { episodes: { length: 500 } },
      { episodes: { length: 500 } },
      { episodes: { length: 234 } },
    ]);
    expect(listOpen(store)).toEqual([]);
  });
});

describe("the journal line of a refusal", () => {
  /** Whether a slot of cad was free after each line of the journal. */
  function listFreeAfterLine(folder: string): Map<number, boolean> {
    const holders = new Set<string>();
    const free = new Map<number, boolean>();
    for (const { line } of readJournal(folder)) {
      for (const event of line.events) {
        if (event.type === "SlotTaken") holders.add(event.user);
        if (event.type === "SlotReleased") holders.delete(event.user);
      }
      free.set(line.seq, holders.size < 2);
    }
    return free;
  }

  test("is the last one before it, also among heartbeats that share a line", async () => {
    const { folder, store, runner, run } = await openDemandSite();
    const before = store.status().seq;
    // All are decided in one turn of the event loop, and written in one batch.
    const results = await Promise.all([
      run(register("ada")),
      run(register("eve")),
      run(register("bob")),
      run(register("fay")),
      run(unregister("fay")),
      run(register("cem")),
      run(register("dan")),
      run(register("eve")),
      run(register("gil")),
    ]);
    expect(results.map(({ ok }) => (ok ? "granted" : "refused")).join(" ")).toBe(
      "refused granted refused granted granted granted refused granted refused",
    );
    await runner.recordRefusals();
    const lines = readJournal(folder).map(({ line }) => [
      line.seq,
      line.events.map(({ type }) => type),
    ]);
    expect(lines.slice(before, before + 4)).toEqual([
      [before + 1, ["SlotRenewed", "SlotRenewed"]],
      [before + 2, ["SlotReleased"]],
      [before + 3, ["SlotTaken"]],
      [before + 4, ["SlotRenewed"]],
    ]);
    expect(listOpen(store).map(({ user, firstSeq }) => [user, firstSeq])).toEqual([
      ["ada", before],
      ["bob", before + 1],
      ["dan", before + 3],
      ["gil", before + 4],
    ]);
    const freeAfterLine = listFreeAfterLine(folder);
    for (const { firstSeq } of listOpen(store)) expect(freeAfterLine.get(firstSeq)).toBe(false);
    expect(freeAfterLine.get(before + 2)).toBe(true);
  });
});

describe("denied episodes over a restart", () => {
  test("survive a crash as they were last journaled, and continue", async () => {
    const { folder, runner, refuse } = await openDemandSite();
    await refuse(register("ada"));
    await refuse(register("ada"));
    await runner.recordRefusals();
    // Not journaled: the refusals of the last minute may be lost.
    await refuse(register("ada"));
    const next = await openDemandSite({ folder: copyFolder(folder) });
    expect(listOpen(next.store)).toMatchObject([{ user: "ada", attempts: 2 }]);
    next.clock.now = minutesLater(5);
    await next.refuse(register("ada"));
    await next.runner.recordRefusals();
    expect(listOpen(next.store)).toMatchObject([
      { user: "ada", attempts: 3, firstAt: MONDAY, lastAt: minutesLater(5) },
    ]);
  });

  test("end as granted if the process crashed after the grant, before it was recorded", async () => {
    const { folder, clock, runner, run, refuse } = await openDemandSite();
    await refuse(register("ada"));
    await runner.recordRefusals();
    clock.now = minutesLater(1);
    await run(unregister("fay"));
    await run(register("ada"));
    const next = await openDemandSite({ folder: copyFolder(folder) });
    next.clock.now = minutesLater(2);
    await next.runner.recordRefusals();
    expect(endedIn(next.folder)).toMatchObject([
      { user: "ada", outcome: "granted", endedAt: minutesLater(1), at: minutesLater(2) },
    ]);
  });

  test("end as given up if the server was stopped for ten minutes", async () => {
    const { folder, refuse, stop } = await openDemandSite();
    await refuse(register("ada"));
    await stop();
    const next = await openDemandSite({ folder });
    next.clock.now = hoursLater(1);
    await next.runner.recordRefusals();
    expect(endedIn(folder)).toMatchObject([{ user: "ada", outcome: "gave_up", endedAt: MONDAY }]);
  });

  test("are open in the counts until the last one ends, whichever process they began in", async () => {
    const { folder, refuse, stop } = await openDemandSite();
    await refuse(register("ada"));
    await stop();
    const { clock, runner, ...next } = await openDemandSite({ folder });
    const countOpen = () => runner.demandCounts.list().map(({ open }) => open);
    clock.now = minutesLater(5);
    await next.refuse(register("bob"));
    expect(countOpen()).toEqual([2]);
    // Ada gave up. Bob still wants a slot.
    clock.now = minutesLater(11);
    await runner.recordRefusals();
    expect(countOpen()).toEqual([1]);
    clock.now = minutesLater(15);
    await runner.recordRefusals();
    expect(countOpen()).toEqual([0]);
  });

  test("are never open in the counts if they ended while the server was stopped", async () => {
    const { folder, refuse, stop } = await openDemandSite();
    await refuse(register("ada"));
    await stop();
    const { clock, runner, ...next } = await openDemandSite({ folder });
    expect(runner.demandCounts.list()).toEqual([]);
    clock.now = hoursLater(1);
    await next.refuse(register("bob"));
    const ended = { granted: 0, gave_up: 1, left: 0 };
    expect(runner.demandCounts.list()).toMatchObject([{ open: 1, started: 1, ended }]);
  });

  test("are not written by a process that only reads the folder", async () => {
    const { folder, refuse, stop } = await openDemandSite();
    await refuse(register("ada"));
    await stop();
    const reader = await openDemandSite({ folder });
    reader.clock.now = hoursLater(5);
    const { seq } = reader.store.status();
    await reader.runner.close();
    expect(reader.store.status().seq).toBe(seq);
  });
});

describe("denied episodes that cannot be written", () => {
  test("are written when the disk has space again", async () => {
    const disk = new FaultyDisk();
    const { store, clock, runner, run, refuse } = await openDemandSite({ disk });
    await refuse(register("ada"));
    await refuse(register("bob"));
    await run(unregister("fay"));
    await run(register("bob"));
    disk.bytesLeft = 0;
    clock.now = minutesLater(1);
    await runner.recordRefusals();
    expect(store.status().fault?.code).toBe("storage_full");
    disk.bytesLeft = Infinity;
    await waitUntil(() => store.status().fault === null);
    await runner.recordRefusals();
    expect(listOpen(store)).toMatchObject([{ user: "ada", attempts: 1 }]);
    const { folder } = await openDemandSite({ folder: copyFolder(store.auditLogSource().folder) });
    expect(endedIn(folder)).toMatchObject([{ user: "bob", outcome: "granted" }]);
  });

  test("are forgotten on a host that the appliance was moved away from", async () => {
    const { store, runner, refuse } = await openDemandSite();
    await refuse(register("ada"));
    await transactOrThrow(store, { type: "MoveAway", move: "m", peer: "socket" });
    const { seq } = store.status();
    await runner.recordRefusals();
    await runner.recordRefusals();
    expect(store.status().seq).toBe(seq);
    expect(runner.demandCounts.list()).toMatchObject([{ open: 0, started: 1 }]);
    expect(await refuse(register("ada"))).toBe("moved_away");
  });

  test("beyond the audit budget of their address are only counted", async () => {
    let mibPerHour = 1;
    const budget = new AuditBudget(() => mibPerHour);
    const { folder, store, runner, refuse } = await openDemandSite({}, budget);
    const user = (number: number) => `user-${number}`.padEnd(200, "x");
    for (let number = 0; number < 3_000; number += 1) {
      expect(await refuse(register(user(number)))).toBe(NO_SLOT);
    }
    await runner.recordRefusals();
    const openCount = listOpen(store).length;
    expect(openCount).toBeGreaterThan(1_000);
    expect(openCount).toBeLessThan(2_000);
    expect(eventsIn(folder)).toContainEqual(
      expect.objectContaining({ type: "RefusalsCounted", code: NO_SLOT, count: 3_000 }),
    );
    mibPerHour = 0;
    await refuse(register(user(2_999)));
    await runner.recordRefusals();
    expect(listOpen(store)).toHaveLength(openCount + 1);
  });

  test("cost an address at least what their lines add to the audit log", async () => {
    const charges: number[] = [];
    const budget = new AuditBudget(() => 1);
    const meterFor = budget.meterFor.bind(budget);
    budget.meterFor = (peer) => {
      const meter = meterFor(peer);
      return (
        meter && { ...meter, charge: (bytes, at) => charges.push(bytes) && meter.charge(bytes, at) }
      );
    };
    const { folder, clock, runner, refuse } = await openDemandSite({}, budget);
    for (const user of ["ada", "ä\n\u2028".repeat(20)]) await refuse(register(user));
    clock.now = minutesLater(20);
    await runner.recordRefusals();
    const sizes = endedIn(folder).map((event) => Buffer.byteLength(JSON.stringify(event)));
    expect(charges).toHaveLength(2);
    for (const [index, size] of sizes.entries()) expect(charges[index]).toBeGreaterThan(size);
  });
});

describe("denied episodes of users who wait in a queue", () => {
  const takePlace = (user: string): TakePlace => ({
    type: "TakePlace",
    product: "cad",
    licenseId: null,
    user,
    facts: { host: "", address: CONTACT.peer, login: null, certificate: null },
    peer: CONTACT.peer,
  });

  /** What a request does that waits: it tries, and takes a place. */
  async function beginWaiting({ runner, run }: DemandSite, user: string): Promise<void> {
    const command = register(user);
    const first = runner.decideCommand(command, CONTACT.peer, passOutcome);
    const denied = { code: NO_SLOT, rule: null, seq: first.seq };
    expect((await run({ ...takePlace(user), denied })).ok).toBe(true);
    runner.recordWait(first);
  }

  const endWaiting = async ({ runner }: DemandSite, user: string) => {
    const last = runner.decideCommand(register(user), CONTACT.peer, passOutcome);
    const result = await last.pendingResult;
    runner.countAfterWait(last, result);
    return result;
  };

  test("begin with the wait, and end as granted with the slot, without a counted refusal", async () => {
    const site = await openDemandSite();
    await beginWaiting(site, "ada");
    site.clock.now = minutesLater(1);
    await site.run(unregister("fay"));
    expect((await endWaiting(site, "ada")).ok).toBe(true);
    await site.runner.recordRefusals();
    expect(endedIn(site.folder)).toMatchObject([
      { user: "ada", outcome: "granted", firstAt: MONDAY, endedAt: minutesLater(1), attempts: 1 },
    ]);
    expect(eventsIn(site.folder).map(({ type }) => type)).not.toContain("RefusalsCounted");
  });

  test("count a request that waited in vain as one attempt, and last until its end", async () => {
    const site = await openDemandSite();
    await beginWaiting(site, "ada");
    site.clock.now = minutesLater(2);
    expect((await endWaiting(site, "ada")).ok).toBe(false);
    await site.runner.recordRefusals();
    expect(listOpen(site.store)).toMatchObject([
      { user: "ada", attempts: 1, firstAt: MONDAY, lastAt: minutesLater(2) },
    ]);
    site.clock.now = minutesLater(3);
    await beginWaiting(site, "ada");
    await site.runner.recordRefusals();
    expect(listOpen(site.store)).toMatchObject([{ user: "ada", attempts: 2 }]);
  });

  test("count a request that is answered at once as one attempt and one refusal", async () => {
    const { folder, store, runner } = await openDemandSite();
    const command = register("ada");
    const decided = runner.decideCommand(command, CONTACT.peer, passOutcome);
    runner.recordWait(decided);
    const result = await decided.pendingResult;
    if (result.ok) throw new Error("the claim was not refused");
    runner.countRefusal(command, result.fault);
    await runner.recordRefusals();
    expect(listOpen(store)).toMatchObject([{ user: "ada", attempts: 1 }]);
    expect(eventsIn(folder)).toContainEqual(
      expect.objectContaining({ type: "RefusalsCounted", code: NO_SLOT, count: 1 }),
    );
  });

  test("end as left when their users unregister", async () => {
    const site = await openDemandSite();
    await beginWaiting(site, "ada");
    site.clock.now = minutesLater(1);
    expect((await site.run(unregister("ada"))).ok).toBe(true);
    await site.runner.recordRefusals();
    expect(endedIn(site.folder)).toMatchObject([{ user: "ada", outcome: "left" }]);
  });

  test("are continued from the places if the process was killed before they were recorded", async () => {
    const site = await openDemandSite();
    await beginWaiting(site, "ada");
    const next = await openDemandSite({ folder: copyFolder(site.folder) });
    expect(listOpen(next.store)).toMatchObject([{ user: "ada", firstAt: MONDAY, attempts: 1 }]);
    next.clock.now = minutesLater(2);
    await next.run(unregister("fay"));
    expect((await next.run(register("ada"))).ok).toBe(true);
    await next.runner.recordRefusals();
    expect(endedIn(next.folder)).toMatchObject([
      { user: "ada", outcome: "granted", firstAt: MONDAY, endedAt: minutesLater(2) },
    ]);
  });

  test("are each recorded once although the process was killed after their ends", async () => {
    const site = await openDemandSite();
    // The same user waits twice, and the slot is released again: no state shows it any more.
    for (const minute of [1, 3]) {
      await beginWaiting(site, "ada");
      site.clock.now = minutesLater(minute);
      await site.run(unregister("fay"));
      expect((await endWaiting(site, "ada")).ok).toBe(true);
      await site.run(unregister("ada"));
      expect((await site.run(register("fay"))).ok).toBe(true);
    }
    await beginWaiting(site, "bob");
    expect((await site.run(unregister("bob"))).ok).toBe(true);
    await beginWaiting(site, "cem");
    const folder = copyFolder(site.folder);
    await site.runner.recordRefusals();
    const next = await openDemandSite({ folder });
    next.clock.now = minutesLater(4);
    await next.runner.recordRefusals();
    await next.runner.recordRefusals();
    const summarize = (name: string) =>
      endedIn(name).map(({ user, outcome, firstAt, endedAt }) => [user, outcome, firstAt, endedAt]);
    const expected = [
      ["ada", "granted", MONDAY, minutesLater(1)],
      ["ada", "granted", minutesLater(1), minutesLater(3)],
      ["bob", "left", minutesLater(3), minutesLater(3)],
    ];
    expect(summarize(folder)).toEqual(expected);
    expect(summarize(site.folder)).toEqual(expected);
    for (const { store, runner } of [site, next]) {
      expect(listOpen(store).map(({ user }) => user)).toEqual(["cem"]);
      expect(store.peek(({ endedEpisodes }) => endedEpisodes.size)).toBe(0);
      expect(runner.demandCounts.list()).toMatchObject([
        { open: 1, ended: { granted: 2, left: 1 } },
      ]);
    }
  });

  test("are in the checkpoint after their ends, until they are recorded", async () => {
    const site = await openDemandSite();
    await beginWaiting(site, "ada");
    await site.run(unregister("fay"));
    expect((await endWaiting(site, "ada")).ok).toBe(true);
    await site.store.checkpoint();
    const next = await openDemandSite({ folder: copyFolder(site.folder) });
    expect(next.store.peek(listUnrecorded)).toMatchObject([{ user: "ada", outcome: "granted" }]);
    await next.runner.recordRefusals();
    expect(next.store.peek(listUnrecorded)).toEqual([]);
  });
});
