// The faults of a pair. Each one happens, is waited out, and is over at its end, except that hosts
// may have ended: those are started again.
import type { Member, PairSystem } from "./pair-system.ts";

/** What a fault can use. */
export interface FaultContext {
  readonly system: PairSystem;
  readonly leader: Member;
  readonly standby: Member;
  readonly random: () => number;
  /** Resolves when a change was acknowledged that was sent from now on. */
  readonly waitForChange: () => Promise<void>;
  /** Sends a change and reads to a suspended host, which must refuse them when it is resumed. */
  readonly resumeAndExpectRefusals: (member: Member) => Promise<void>;
  /** Resolves when the leader has given the leadership to the other host. */
  readonly waitForHandOver: (leader: Member) => Promise<void>;
  /** Sets the system clock of a host to the true time plus an offset. */
  readonly setClock: (member: Member, offsetMs: number) => void;
}

interface FaultKind {
  readonly name: string;
  /** How often it is chosen. */
  readonly share: number;
  readonly changesClock?: boolean;
  /** The other host leads afterwards, if it can. */
  readonly isTakeover?: boolean;
  readonly run: (context: FaultContext) => Promise<void>;
}

const HOUR = 3_600_000;

/** Between two parts of the term. */
const waitInTerm = ({ system, random }: FaultContext, least: number, most: number): Promise<void> =>
  Bun.sleep(system.termMs * (least + random() * (most - least)));

async function suspendLeader(context: FaultContext): Promise<void> {
  const { leader, waitForChange, resumeAndExpectRefusals } = context;
  leader.host.suspend();
  await waitInTerm(context, 1.5, 2.5);
  await waitForChange();
  await resumeAndExpectRefusals(leader);
}

async function breakDatabaseLink(
  context: FaultContext,
  member: Member,
  link: "cut" | "frozen" | "mute",
): Promise<void> {
  const { system, waitForChange } = context;
  system.setDatabaseLink(member, link);
  await waitInTerm(context, 0.2, 2.5);
  // A short one may end before the other host leads.
  if (context.random() < 0.7) await waitForChange();
  system.setDatabaseLink(member, "open");
}

async function failOver(context: FaultContext, end: "stops" | "hangs"): Promise<void> {
  const { system, waitForChange } = context;
  await system.databases.failOver(end);
  system.noteDatabaseReady();
  await waitForChange();
  await system.rebuildStandby();
  system.noteDatabaseReady();
}

const jumpClock = (context: FaultContext, member: Member): void => {
  const hours = [-2, -0.5, 0.5, 2][Math.floor(context.random() * 4)] ?? 0;
  context.setClock(member, hours * HOUR);
};

export const FAULT_KINDS: readonly FaultKind[] = [
  {
    name: "leader killed",
    share: 20,
    isTakeover: true,
    async run({ system, leader, waitForChange, random }) {
      leader.host.kill();
      await leader.host.waitForExit();
      if (random() < 0.3) await system.waitUntilReady();
      await waitForChange();
    },
  },
  {
    name: "standby killed",
    share: 6,
    async run({ standby }) {
      standby.host.kill();
      await standby.host.waitForExit();
    },
  },
  {
    name: "both hosts killed",
    share: 6,
    isTakeover: true,
    async run({ system, leader, standby }) {
      leader.host.kill();
      standby.host.kill();
      await Promise.all([leader.host.waitForExit(), standby.host.waitForExit()]);
      await system.waitUntilReady();
    },
  },
  { name: "leader suspended", share: 20, isTakeover: true, run: suspendLeader },
  {
    name: "leader suspended shortly",
    share: 6,
    async run(context) {
      context.leader.host.suspend();
      await waitInTerm(context, 0.05, 0.6);
      context.leader.host.resume();
    },
  },
  {
    name: "standby suspended",
    share: 4,
    async run(context) {
      context.standby.host.suspend();
      await waitInTerm(context, 0.5, 2);
      context.standby.host.resume();
    },
  },
  {
    name: "leader without database: packets lost",
    share: 16,
    isTakeover: true,
    run: (context) => breakDatabaseLink(context, context.leader, "frozen"),
  },
  {
    name: "leader without database: connections closed",
    share: 10,
    isTakeover: true,
    run: (context) => breakDatabaseLink(context, context.leader, "cut"),
  },
  {
    name: "leader without answers of the database",
    share: 14,
    isTakeover: true,
    run: (context) => breakDatabaseLink(context, context.leader, "mute"),
  },
  {
    name: "standby without database",
    share: 4,
    run: (context) =>
      breakDatabaseLink(context, context.standby, context.random() < 0.5 ? "cut" : "frozen"),
  },
  {
    name: "slow database",
    share: 4,
    async run(context) {
      const { system, leader, random } = context;
      system.setDatabaseDelay(leader, system.termMs * (0.05 + random() * 0.15));
      await waitInTerm(context, 1, 2);
      system.setDatabaseDelay(leader, 0);
    },
  },
  {
    name: "clients cut off from the leader",
    share: 6,
    async run(context) {
      context.leader.clients.link = "cut";
      await waitInTerm(context, 0.5, 1.5);
      context.leader.clients.link = "open";
    },
  },
  {
    name: "leader stopped",
    share: 6,
    isTakeover: true,
    async run({ leader, waitForChange }) {
      leader.host.terminate();
      await waitForChange();
      await leader.host.waitForExit();
    },
  },
  {
    name: "leadership handed over",
    share: 10,
    isTakeover: true,
    async run({ leader, waitForHandOver }) {
      await waitForHandOver(leader);
    },
  },
  {
    name: "database restarted",
    share: 12,
    async run({ system, random }) {
      await system.databases.restart(random() < 0.5 ? "fast" : "immediate");
      system.noteDatabaseReady();
    },
  },
  {
    name: "database suspended",
    share: 8,
    async run(context) {
      const { system } = context;
      await system.databases.suspend();
      await waitInTerm(context, 0.3, 2.5);
      await system.databases.resume();
      system.noteDatabaseReady();
    },
  },
  {
    name: "database failed over to its standby",
    share: 14,
    run: (context) => failOver(context, "stops"),
  },
  {
    name: "database failed over from a server that hangs",
    share: 6,
    run: (context) => failOver(context, "hangs"),
  },
  {
    name: "database failed over, and leader killed",
    share: 8,
    isTakeover: true,
    async run(context) {
      context.leader.host.kill();
      await failOver(context, "stops");
    },
  },
  {
    name: "clock of the leader jumps",
    share: 10,
    changesClock: true,
    async run(context) {
      jumpClock(context, context.leader);
      await waitInTerm(context, 0.5, 1);
      if (context.random() < 0.5) await suspendLeader(context);
      context.setClock(context.leader, 0);
    },
  },
  {
    name: "clock of the standby jumps, and leader killed",
    share: 10,
    isTakeover: true,
    changesClock: true,
    async run(context) {
      jumpClock(context, context.standby);
      await waitInTerm(context, 0.2, 0.5);
      context.leader.host.kill();
      await context.waitForChange();
      context.setClock(context.standby, 0);
    },
  },
];
