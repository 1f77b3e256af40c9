// Faults on one pair, one after the other, under a load that goes on. After each fault the clients
// pause, and what they were answered is compared with what the leader shows.
import { PRODUCT } from "../../faults/kill/calls.ts";
import { isEventuallyTrue } from "../../support/wait-until.ts";
import { isOrderOfLeaders } from "./answers.ts";
import { callHost } from "./calls.ts";
import type { FAULT_KINDS, FaultContext } from "./fault-kinds.ts";
import { PairClient } from "./pair-client.ts";
import { LICENSE, PairRecord } from "./pair-record.ts";
import { SLOTS, type Member, type PairSystem } from "./pair-system.ts";
import type { FaultResults } from "./results.ts";

const CLIENTS = 10;
/** Each host is asked so often which total it has, whether it leads or not. */
const PROBE_MS = 10;
/** How long the pair may take to recover before the suite gives up. */
const RECOVERY_PATIENCE = 120_000;
/** Load before a fault, in milliseconds. */
const LOAD_MS = 200;
/** The faults after which the other host leads without waiting for the end of a term. */
const HAND_OVERS: ReadonlySet<string> = new Set(["leader stopped", "leadership handed over"]);
/** Until a call that was sent has reached the socket of a host. */
const DELIVERY_MS = 50;

type Fault = (typeof FAULT_KINDS)[number];

export class FaultRun {
  readonly #system: PairSystem;
  readonly #results: FaultResults;
  readonly #random: () => number;
  readonly #setClock: FaultContext["setClock"];
  readonly #clients: readonly PairClient[];
  readonly #record: PairRecord;
  #running: Promise<unknown> = Promise.resolve();
  #isProbing = false;
  #lastEpoch = 0;
  #lastLeader: string | null = null;
  #writeCount = 0;

  constructor(
    system: PairSystem,
    results: FaultResults,
    random: () => number,
    setClock: FaultContext["setClock"],
  ) {
    this.#system = system;
    this.#results = results;
    this.#random = random;
    this.#setClock = setClock;
    this.#clients = Array.from(
      { length: CLIENTS },
      (_, index) =>
        new PairClient({
          index,
          hosts: system.addresses,
          // Longer than a host may be suspended and still lead: what it was sent then happens.
          timeoutMs: 1.2 * system.termMs,
          random,
          record: () => this.#record,
        }),
    );
    const users = this.#clients.flatMap((client) => client.users);
    this.#record = new PairRecord(users, SLOTS, results);
  }

  /** Lets one fault happen; false: the pair did not recover. */
  async run(fault: Fault): Promise<boolean> {
    this.#startLoad();
    const leader = await this.#system.waitForLeader();
    await this.#waitForChange();
    await Bun.sleep(LOAD_MS * (0.5 + this.#random()));
    const outage = this.#measureOutage();
    await fault.run({
      system: this.#system,
      leader,
      standby: this.#system.otherThan(leader),
      random: this.#random,
      waitForChange: () => this.#waitForChange(),
      resumeAndExpectRefusals: (member) => this.#resumeAndExpectRefusals(member),
      waitForHandOver: (member) => this.#waitForHandOver(member),
      setClock: this.#setClock,
    });
    await this.#system.waitUntilReady();
    const isRecovered = await this.#hasChanged();
    const longest = outage();
    await this.stopLoad();
    if (!isRecovered) {
      const outputs = this.#system.members.map(({ host }) => host.output.slice(-3_000));
      this.#results.recordViolation("recovery", outputs.join("\n---\n"));
      return false;
    }
    const hasChangedLeader = await this.#compare();
    const term = this.#system.termMs / 1_000;
    const what = hasChangedLeader ? "takeover" : "interruption";
    this.#results.recordTime(`${what} with a term of ${term} s`, fault.name, longest);
    if (HAND_OVERS.has(fault.name)) this.#results.recordTime("hand-over", fault.name, longest);
    this.#results.recordFault(fault.name);
    return true;
  }

  #startLoad(): void {
    this.#isProbing = true;
    const probes = this.#system.members.map((member) => this.#probe(member));
    this.#running = Promise.all([...probes, ...this.#clients.map((client) => client.run())]);
  }

  async stopLoad(): Promise<void> {
    this.#isProbing = false;
    for (const client of this.#clients) client.stop();
    await this.#running;
  }

  /** Asks one host all the time. */
  async #probe({ address }: Member): Promise<void> {
    while (this.#isProbing) {
      await this.#record.readTotal(address, 0.5 * this.#system.termMs);
      await Bun.sleep(PROBE_MS);
    }
  }

  /** Returns a function that tells the longest time without an acknowledged change. */
  #measureOutage(): () => number {
    let longest = 0;
    let last = performance.now();
    this.#system.databaseReadyAt = last;
    const add = (until: number): void => {
      longest = Math.max(longest, until - Math.max(last, this.#system.databaseReadyAt));
      last = until;
    };
    this.#record.onChange = ({ arrivedAt }) => add(arrivedAt);
    return () => {
      this.#record.onChange = () => {};
      return longest;
    };
  }

  async #waitForChange(): Promise<void> {
    if (await this.#hasChanged()) return;
    const outputs = this.#system.members.map(({ host }) => host.output.slice(-3_000));
    throw new Error(`no change was acknowledged: ${outputs.join("\n---\n")}`);
  }

  /** Whether a change is acknowledged that was sent from now on. */
  #hasChanged(): Promise<boolean> {
    const since = performance.now();
    return isEventuallyTrue(() => this.#record.lastChangeSentAt > since, {
      patience: RECOVERY_PATIENCE,
    });
  }

  /** It is refused until the other host has reported that it follows. */
  async #waitForHandOver({ address }: Member): Promise<void> {
    const call = { path: "/api/admin/v1/pair/hand-over", body: {}, timeoutMs: RECOVERY_PATIENCE };
    let last: unknown = null;
    const isDone = await isEventuallyTrue(
      async () => {
        const answer = await callHost(address, call);
        last = answer;
        // It may have lost the leadership on a busy machine.
        return answer?.status === 200 || answer?.status === 503;
      },
      { patience: RECOVERY_PATIENCE, maxPause: 500 },
    );
    if (!isDone) this.#results.recordViolation("recovery", `hand-over: ${JSON.stringify(last)}`);
  }

  /** The other host leads: nothing that was sent to this one since then may be answered. */
  async #resumeAndExpectRefusals({ host, address }: Member): Promise<void> {
    this.#writeCount += 1;
    this.#results.counts.oldLeaderWrites += 1;
    const body = { product: PRODUCT, user: `late-${this.#writeCount}` };
    const write = { path: "/api/v4/register", body, timeoutMs: RECOVERY_PATIENCE };
    const read = { path: LICENSE, body: null, timeoutMs: RECOVERY_PATIENCE };
    const calls = [write, read, read, read].map((call) => callHost(address, call));
    // They wait in its sockets, and are the first that it reads.
    await Bun.sleep(DELIVERY_MS);
    host.resume();
    const answers = await Promise.all(calls);
    const wrong = answers.filter((answer) => answer?.status !== 503);
    if (wrong.length === 0) return;
    // On a busy machine it may have become the leader again before it read the calls.
    const last = (await this.#system.readLeaders(this.#lastEpoch)).at(-1);
    if (last?.host === address.name)
      await callHost(address, { ...write, path: "/api/v4/unregister" });
    else
      this.#results.recordViolation(
        "oldLeader",
        `${address.name} answered ${JSON.stringify(wrong)}, and ${last?.host} leads`,
      );
  }

  /** Compares what the leader shows with the record; returns whether the leader has changed. */
  async #compare(): Promise<boolean> {
    const isCompared = await isEventuallyTrue(
      async () => {
        const leader = await this.#system.findLeader();
        return leader !== null && (await this.#record.compareWith(leader.address));
      },
      { patience: RECOVERY_PATIENCE, maxPause: 50 },
    );
    if (!isCompared) this.#results.recordViolation("recovery", "no host shows its state");
    const changes = await this.#system.readLeaders(this.#lastEpoch);
    this.#results.counts.leaderChanges += changes.length;
    this.#lastEpoch = changes.at(-1)?.epoch ?? this.#lastEpoch;
    const leaders = this.#lastLeader === null ? [] : [this.#lastLeader];
    for (const { host } of changes) if (host !== leaders.at(-1)) leaders.push(host);
    const answered = this.#record.order.takeHosts();
    if (!isOrderOfLeaders(answered, leaders)) {
      const detail = `${answered.join(", ")} answered, but ${leaders.join(", ")} led`;
      this.#results.recordViolation("oneHost", detail);
    }
    const before = this.#lastLeader;
    this.#lastLeader = leaders.at(-1) ?? null;
    return before !== null && leaders.length > 1;
  }
}
