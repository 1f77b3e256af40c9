// Simulates a day at a large site, on a real folder, and checks that the folder's size stays
// bounded. Heartbeats must not fill the disk, every other change is in the audit log once, and
// refused calls are only counted.
import { beforeAll, describe, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { EpisodeEnded } from "../../../src/domain/model/demand/episode.ts";
import type { RefusalsCounted } from "../../../src/domain/model/event.ts";
import { limits } from "../../../src/domain/model/limits.ts";
import { DAY, HOUR, MINUTE } from "../../../src/domain/time.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { listGenerations, AUDIT_FOLDER, listSegments } from "../../../src/store/folder/files.ts";
import { readLines, type RawLine } from "../../support/licensed-store.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { makeTempFolder, chooseSize } from "../../support/suite-harness.ts";
import { expectPromise } from "../shared/promises.ts";
import { measureFolder, DaySite, type FolderSize } from "./day-site.ts";
import { ManualTime } from "./manual-time.ts";
import { makeContact } from "../../support/contact.ts";

const CLIENTS = 10_000;
const PRODUCT = "cad";
/** How long each client renews every minute; for the rest of the day at least this often. */
const EVERY_MINUTE_FOR = chooseSize(15 * MINUTE, DAY);
const SLOW_INTERVAL = chooseSize(4 * HOUR, 30 * MINUTE);
const MAX_BYTES = 50_000_000;
/** Kinds of refused calls, in turns. */
const KINDS = 5;
/** Calls of each user who gets no slot. */
const ATTEMPTS = 2;
const REFUSED_CALLS = chooseSize(10_000, 100_000);

/** The previous checkpoint is kept, and the journal since then. */
const EXPECTED_FILES = "2 generations of the state, 2 segments of the journal";

/** Enough clients to show what a day adds to the audit log, if not how large it gets. */
const FEW_CLIENTS = 100;

const time = new ManualTime();

async function makeSite(slots: number): Promise<DaySite> {
  const folder = makeTempFolder();
  await makeLicensedSite(folder, { product: PRODUCT, slots, timeoutMinutes: 5 * 60 });
  return new DaySite(folder, time);
}

/** Shorter than a disk may take for a sync. */
const STEP = 5_000;

describe(`${REFUSED_CALLS} calls in an hour that are refused`, () => {
  let events: RefusalsCounted[] = [];
  let episodes: EpisodeEnded[] = [];
  let lines = 0;
  let grantedCount = 0;

  beforeAll(async () => {
    const fullSite = await makeSite(1);
    await fullSite.open();
    const { slots, features } = fullSite.operations;
    const request = { licenseId: null, contact: contactOf(0, 0), identity: null, nonce: null };
    const occupied = await slots.register({ ...request, product: PRODUCT, user: userName(0) });
    if (!occupied.ok) throw new Error(`the only slot is not granted: ${JSON.stringify(occupied)}`);
    const refusedCalls: readonly ((index: number) => Promise<{ readonly ok: boolean }>)[] = [
      (index) => slots.register({ ...request, product: PRODUCT, user: lateUser(index) }),
      (index) => slots.register({ ...request, product: `guess-${index}`, user: "eve" }),
      () => slots.register({ ...request, product: PRODUCT, user: null }),
      (index) => features.register({ ...holder, identity: null, feature: `guess-${index}` }),
      (index) => slots.unregister({ ...unknownUser(index), by: "user" }),
    ];
    const seqBefore = fullSite.store.status().seq;
    for (let index = 0; index < REFUSED_CALLS; index += 1) {
      const answer = await refusedCalls[index % KINDS]?.(index);
      if (answer?.ok !== false) grantedCount += 1;
      await fullSite.advance(HOUR / REFUSED_CALLS);
    }
    // Lets the last refusals be counted and the last episodes end: a stop does not wait for them.
    // In short steps, each until all is on disk: else the disk would seem to hang.
    for (let waited = 0; waited <= limits.episodeSilence + MINUTE; waited += STEP) {
      await fullSite.advance(STEP);
      await fullSite.store.read(() => null);
    }
    lines = fullSite.store.status().seq - seqBefore;
    await fullSite.close();
    const auditLog = readAuditLog(fullSite.folder);
    events = auditLog.flatMap(refusalsIn);
    episodes = auditLog.flatMap(episodesIn);
    console.log(`${lines} lines, ${events.length} events, ${episodes.length} episodes`);
  });

  test("are all counted, with at most three journal lines a minute", () => {
    const total = events.reduce((sum, { count }) => sum + count, 0);
    expectPromise(grantedCount === 0 && total === REFUSED_CALLS && lines <= (3 * HOUR) / MINUTE, {
      grantedCount,
      lines,
      total,
    });
  });

  test("are one episode in the audit log for each user who got no slot", () => {
    const users = new Set(episodes.map(({ user }) => user));
    const isWrong = ({ user, attempts, outcome }: EpisodeEnded): boolean =>
      !user.startsWith("late-") || attempts !== ATTEMPTS || outcome !== "gave_up";
    const expected = REFUSED_CALLS / KINDS / ATTEMPTS;
    expectPromise(
      users.size === expected && episodes.length === expected && !episodes.some(isWrong),
      { users: users.size, episodes: episodes.length, wrong: episodes.filter(isWrong).slice(0, 3) },
    );
  });

  test("make at most one event a minute for each kind, which names at most 20 users", () => {
    const lastEventAt = new Map<string, number>();
    const tooEarly: RefusalsCounted[] = [];
    for (const event of events) {
      const key = refusalKey(event);
      if (event.at - (lastEventAt.get(key) ?? -Infinity) < MINUTE) tooEarly.push(event);
      lastEventAt.set(key, event.at);
    }
    const mostUsers = Math.max(...events.map(({ users }) => users.length));
    expectPromise(tooEarly.length === 0 && mostUsers <= 20 && lastEventAt.size === KINDS, {
      kinds: [...lastEventAt.keys()].slice(0, 20),
      mostUsers,
      tooEarly: tooEarly.slice(0, 3),
    });
  });
});

/** What a day left in a data folder. */
interface DayReport extends DayResult {
  readonly site: DaySite;
  readonly peak: FolderSize;
  readonly checkpointCount: number;
  /** The files after the stop at the end of the day. */
  readonly files: string;
  /** Lines that the day added to the audit log. */
  readonly lines: readonly RawLine[];
  readonly auditLogGrowth: number;
}

async function runDay(
  site: DaySite,
  clients: number,
  kind: "two machines" | "shifts",
  everyMinuteFor: number,
): Promise<DayReport> {
  const linesBefore = readAuditLog(site.folder).length;
  const bytesBefore = measureFolder(site.folder).auditLogBytes;
  await site.open();
  const result = await simulateDay(site, clients, everyMinuteFor, kind);
  await site.close();
  const size = measureFolder(site.folder);
  const lines = readAuditLog(site.folder).slice(linesBefore);
  const auditLogGrowth = size.auditLogBytes - bytesBefore;
  const { peak, checkpointCount } = site;
  const files = describeFiles(site.folder);
  console.log(
    `${clients} clients, ${result.calls} calls, ${checkpointCount} checkpoints: at most ` +
      `${megabytes(peak.totalBytes)}; ${megabytes(size.totalBytes)} left, ` +
      `${megabytes(size.auditLogBytes)} of it audit log; ${files}`,
  );
  return { ...result, site, peak, checkpointCount, files, lines, auditLogGrowth };
}

let renewals: Promise<DayReport> | null = null;

/**
 * All clients register in the first round. Then they only renew, each user alternately from two
 * machines and with new user_info each time.
 */
const runRenewals = (): Promise<DayReport> =>
  (renewals ??= makeSite(CLIENTS).then((site) =>
    runDay(site, CLIENTS, "two machines", EVERY_MINUTE_FOR),
  ));

/** Two lines for each client: its registration, and one change of machine. */
const hasOnlyExpectedLines = (lines: readonly RawLine[], clients: number): boolean =>
  lines.length === 2 * clients &&
  countOf(lines, "SlotTaken") === clients &&
  countOf(lines, "ContactChanged") === clients;

describe("a day of renewals by clients on two machines each", () => {
  test(`adds no renewal to the audit log of ${FEW_CLIENTS} clients`, async () => {
    const site = await makeSite(FEW_CLIENTS);
    const { lines } = await runDay(site, FEW_CLIENTS, "two machines", 0);
    expectPromise(hasOnlyExpectedLines(lines, FEW_CLIENTS), typesIn(lines));
  });

  test(`never needs ${megabytes(MAX_BYTES)} in the data folder of ${CLIENTS} clients`, async () => {
    const { refused, peak, checkpointCount } = await runRenewals();
    expectPromise(peak.totalBytes < MAX_BYTES && checkpointCount > 1 && refused.length === 0, {
      refused,
      peak,
      checkpointCount,
    });
  });

  test(`leaves ${EXPECTED_FILES} after a stop with ${CLIENTS} clients`, async () => {
    const { files } = await runRenewals();
    expectPromise(files === EXPECTED_FILES, files);
  });

  test(`adds a registration and a change of machine for each of ${CLIENTS} clients`, async () => {
    const { lines } = await runRenewals();
    expectPromise(hasOnlyExpectedLines(lines, CLIENTS), typesIn(lines));
  });
});

describe(`a day on which each of ${CLIENTS} clients unregisters and registers once`, () => {
  let report: DayReport;

  beforeAll(async () => {
    const { site } = await runRenewals();
    report = await runDay(site, CLIENTS, "shifts", chooseSize(0, DAY));
  });

  test("adds at most three lines to the audit log for each", () => {
    const { refused, lines, auditLogGrowth } = report;
    console.log(`${lines.length} lines, ${Math.round(auditLogGrowth / lines.length)} bytes each`);
    expectPromise(
      refused.length === 0 &&
        // The first call may come from another machine than the last one in the audit log.
        lines.length <= 3 * CLIENTS &&
        lines.length === 2 * CLIENTS + countOf(lines, "ContactChanged") &&
        countOf(lines, "SlotReleased") === CLIENTS &&
        countOf(lines, "SlotTaken") === CLIENTS,
      { refused, types: typesIn(lines) },
    );
  });

  test(`keeps all files but the audit log below ${megabytes(MAX_BYTES)}`, () => {
    const { peak, files } = report;
    expectPromise(peak.totalBytes - peak.auditLogBytes < MAX_BYTES && files === EXPECTED_FILES, {
      peak,
      files,
    });
  });
});

interface DayResult {
  readonly calls: number;
  /** The first unexpected refusals, at most three. */
  readonly refused: readonly unknown[];
}

/**
 * Each client calls once in a round, a sixtieth of the clients at a time. The first rounds take a
 * minute, the others longer. With shifts, each client unregisters right before one of its calls.
 */
async function simulateDay(
  site: DaySite,
  clients: number,
  everyMinuteFor: number,
  kind: "two machines" | "shifts",
): Promise<DayResult> {
  const shortRounds = everyMinuteFor / MINUTE;
  const longRounds = Math.ceil((DAY - everyMinuteFor) / SLOW_INTERVAL);
  const rounds = shortRounds + longRounds;
  const refused: unknown[] = [];
  let calls = 0;
  const recordAnswer = (answer: { readonly ok: boolean }): void => {
    calls += 1;
    if (!answer.ok && refused.length < 3) refused.push(answer);
  };
  const call = async (client: number, round: number): Promise<void> => {
    const request = { product: PRODUCT, user: userName(client), licenseId: null };
    const contact = contactOf(client, kind === "shifts" ? 0 : round);
    if (kind === "shifts" && client % rounds === round) {
      recordAnswer(
        await site.operations.slots.unregister({ ...request, by: "user", peer: contact.peer }),
      );
    }
    recordAnswer(
      await site.operations.slots.register({ ...request, contact, identity: null, nonce: null }),
    );
  };
  for (let round = 0; round < rounds; round += 1) {
    // The day ends after 24 hours: then a change of machine is recorded once more.
    const length = round < shortRounds ? MINUTE : (DAY - everyMinuteFor) / longRounds;
    for (let batch = 0; batch < 60; batch += 1) {
      const pending: Promise<void>[] = [];
      for (let client = batch; client < clients; client += 60) pending.push(call(client, round));
      await Promise.all(pending);
      await site.advance(length / 60);
    }
    // The folder is too large already, and the check will fail.
    if (site.peak.totalBytes - site.peak.auditLogBytes >= MAX_BYTES) break;
  }
  return { calls, refused };
}

function userName(client: number): string {
  return `user-${client}@initrode.example`;
}

function contactOf(client: number, round: number) {
  const machine = round % 2;
  const ip = `10.${machine}.${client >> 8}.${client & 255}`;
  const info = `up ${round} minutes, ${round % 7} documents open`;
  return makeContact({ hostname: `workstation-${client}-${machine}`, ip, info, peer: ip });
}

const holder = { product: PRODUCT, user: userName(0), licenseId: null, peer: "10.0.0.1" };

function unknownUser(index: number) {
  return { product: PRODUCT, user: `unknown-${index}`, licenseId: null, peer: "10.0.0.1" };
}

function describeFiles(folder: string): string {
  const states = listGenerations(realDisk, folder).length + 1;
  return `${states} generations of the state, ${listSegments(realDisk, folder).length} segments of the journal`;
}

/** All lines of the audit log, in order. */
function readAuditLog(folder: string): RawLine[] {
  const lines = readdirSync(join(folder, AUDIT_FOLDER)).flatMap((name) =>
    readLines(join(folder, AUDIT_FOLDER, name)),
  );
  return lines.toSorted((a, b) => (a.line.audit_seq ?? 0) - (b.line.audit_seq ?? 0));
}

function typesIn(lines: readonly RawLine[]): Record<string, number> {
  const types: Record<string, number> = {};
  for (const { line } of lines) {
    for (const { type } of line.events) types[type] = (types[type] ?? 0) + 1;
  }
  return types;
}

function countOf(lines: readonly RawLine[], type: string): number {
  return typesIn(lines)[type] ?? 0;
}

function refusalsIn({ line }: RawLine): RefusalsCounted[] {
  return line.events.filter((event) => event.type === "RefusalsCounted");
}

/** The name of a user who tries again before the next one does. */
function lateUser(index: number): string {
  return `late-${Math.floor(index / (KINDS * ATTEMPTS))}`;
}

function episodesIn({ line }: RawLine): EpisodeEnded[] {
  return line.events.filter((event) => event.type === "EpisodeEnded");
}

function refusalKey({ product, code }: RefusalsCounted): string {
  return JSON.stringify([product, code]);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
