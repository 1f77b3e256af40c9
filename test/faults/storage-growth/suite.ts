// Simulates a day at a large site, on a real folder, and checks that the folder's size stays
// bounded. Heartbeats must not fill the disk, every other change is in the audit log once, and
// refused calls are only counted.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { RefusalsCounted } from "../../../src/domain/event.ts";
import { DAY, HOUR, MINUTE } from "../../../src/domain/time.ts";
import { realDisk } from "../../../src/platform/disk.ts";
import { listGenerations, AUDIT_FOLDER, listSegments } from "../../../src/store/folder/files.ts";
import { readLines, type RawLine } from "../../support/licensed-store.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { check, finish, makeTempFolder, chooseSize } from "../../support/suite-harness.ts";
import { measureFolder, DaySite } from "./day-site.ts";
import { ManualTime } from "./manual-time.ts";

const CLIENTS = 10_000;
const PRODUCT = "cad";
/** How long each client renews every minute; for the rest of the day it renews less often. */
const EVERY_MINUTE_FOR = chooseSize(HOUR, DAY);
const SLOW_INTERVAL = 30 * MINUTE;
const MAX_BYTES = 50_000_000;
const REFUSED_CALLS = 100_000;

const time = new ManualTime();
const site = await makeSite(CLIENTS);

async function makeSite(slots: number): Promise<DaySite> {
  const folder = makeTempFolder();
  await makeLicensedSite(folder, { product: PRODUCT, slots, timeoutMinutes: 120 });
  return new DaySite(folder, time);
}

/** Makes calls for an hour that the server must refuse. */
async function checkRefusals(): Promise<void> {
  const fullSite = await makeSite(1);
  await fullSite.open();
  const { slots, features } = fullSite.operations;
  const request = { licenseId: null, contact: contactOf(0, 0), nonce: null };
  const occupied = await slots.register({ ...request, product: PRODUCT, user: userName(0) });
  const refusedCalls: readonly ((index: number) => Promise<{ readonly ok: boolean }>)[] = [
    (index) => slots.register({ ...request, product: PRODUCT, user: `late-${index}` }),
    (index) => slots.register({ ...request, product: `guess-${index}`, user: "eve" }),
    () => slots.register({ ...request, product: PRODUCT, user: null }),
    (index) => features.register({ ...holder, feature: `guess-${index}` }),
    (index) => slots.unregister({ ...unknownUser(index), by: "user" }),
  ];
  const seqBefore = fullSite.store.status().seq;
  let grantedCount = 0;
  for (let index = 0; index < REFUSED_CALLS; index += 1) {
    const answer = await refusedCalls[index % refusedCalls.length]?.(index);
    if (answer?.ok !== false) grantedCount += 1;
    await fullSite.advance(HOUR / REFUSED_CALLS);
  }
  // Lets the last refusals be counted: a stop does not wait for the end of their minute.
  await fullSite.advance(MINUTE);
  const lines = fullSite.store.status().seq - seqBefore;
  await fullSite.close();
  const events = readAuditLog(fullSite.folder).flatMap(refusalsIn);
  const total = events.reduce((sum, { count }) => sum + count, 0);
  check(
    `refused calls are all counted, with at most one journal line a minute (${REFUSED_CALLS} calls in an ` +
      `hour, ${total} counted, ${lines} lines)`,
    occupied.ok && grantedCount === 0 && total === REFUSED_CALLS && lines <= HOUR / MINUTE,
    { occupied, grantedCount, lines, total },
  );
  const lastEventAt = new Map<string, number>();
  const tooEarly: RefusalsCounted[] = [];
  for (const event of events) {
    if (event.at - (lastEventAt.get(refusalKey(event)) ?? -Infinity) < MINUTE) tooEarly.push(event);
    lastEventAt.set(refusalKey(event), event.at);
  }
  const mostUsers = Math.max(...events.map(({ users }) => users.length));
  check(
    `each kind of refusal makes at most one event a minute, which names at most 20 users ` +
      `(${lastEventAt.size} kinds, ${events.length} events, at most ${mostUsers} users)`,
    tooEarly.length === 0 && mostUsers <= 20 && lastEventAt.size === refusedCalls.length,
    { kinds: [...lastEventAt.keys()].slice(0, 20), mostUsers, tooEarly: tooEarly.slice(0, 3) },
  );
}

/**
 * All clients register in the first round. Then they only renew, each user alternately from two
 * machines and with new user_info each time.
 */
async function checkHeartbeats(): Promise<void> {
  const before = readAuditLog(site.folder).length;
  await site.open();
  const { calls, refused } = await simulateDay(EVERY_MINUTE_FOR, "two machines");
  check(
    `a day of renewals never needs ${megabytes(MAX_BYTES)} in the data folder (at most ` +
      `${megabytes(site.peak.totalBytes)}; ${CLIENTS} clients on two machines each, ` +
      `${EVERY_MINUTE_FOR / HOUR} h with a renewal every minute, ${calls} calls, ` +
      `${site.checkpointCount} checkpoints)`,
    site.peak.totalBytes < MAX_BYTES && site.checkpointCount > 1 && refused.length === 0,
    { refused, peak: site.peak },
  );
  await site.close();
  const size = measureFolder(site.folder);
  check(
    `a stop after a day of renewals leaves ${EXPECTED_FILES} (found ${describeFiles(site.folder)}; ` +
      `${megabytes(size.totalBytes)}, ${megabytes(size.auditLogBytes)} of it audit log)`,
    describeFiles(site.folder) === EXPECTED_FILES,
    size,
  );
  const lines = readAuditLog(site.folder).slice(before);
  check(
    `after a day of renewals the audit log has, for each of ${CLIENTS} clients, one registration, one ` +
      `change of machine and no renewal`,
    lines.length === 2 * CLIENTS &&
      countOf(lines, "SlotTaken") === CLIENTS &&
      countOf(lines, "ContactChanged") === CLIENTS,
    typesIn(lines),
  );
}

/** Simulates a day in which each client unregisters and registers again once. */
async function checkShifts(): Promise<void> {
  const before = {
    lines: readAuditLog(site.folder).length,
    auditLogBytes: measureFolder(site.folder).auditLogBytes,
  };
  await site.open();
  const { calls, refused } = await simulateDay(chooseSize(0, DAY), "shifts");
  const otherBytes = site.peak.totalBytes - site.peak.auditLogBytes;
  await site.close();
  const size = measureFolder(site.folder);
  const lines = readAuditLog(site.folder).slice(before.lines);
  const auditLogGrowth = size.auditLogBytes - before.auditLogBytes;
  check(
    `when each client unregisters and registers once, the audit log gets at most three lines for each ` +
      `(${lines.length} lines, ${megabytes(auditLogGrowth)}, ` +
      `${Math.round(auditLogGrowth / lines.length)} bytes each)`,
    refused.length === 0 &&
      // The first call of the day may come from another machine than the last one in the audit log.
      lines.length <= 3 * CLIENTS &&
      lines.length === 2 * CLIENTS + countOf(lines, "ContactChanged") &&
      countOf(lines, "SlotReleased") === CLIENTS &&
      countOf(lines, "SlotTaken") === CLIENTS,
    { refused, types: typesIn(lines) },
  );
  check(
    `when each client unregisters and registers once, all files but the audit log stay below ` +
      `${megabytes(MAX_BYTES)} (${calls} calls; at most ${megabytes(otherBytes)}, ` +
      `${megabytes(size.totalBytes - size.auditLogBytes)} after the stop: ${describeFiles(site.folder)})`,
    otherBytes < MAX_BYTES && describeFiles(site.folder) === EXPECTED_FILES,
    { size, peak: site.peak },
  );
}

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
  everyMinuteFor: number,
  kind: "two machines" | "shifts",
): Promise<DayResult> {
  const rounds = everyMinuteFor / MINUTE + (DAY - everyMinuteFor) / SLOW_INTERVAL;
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
    recordAnswer(await site.operations.slots.register({ ...request, contact, nonce: null }));
  };
  for (let round = 0; round < rounds; round += 1) {
    const length = round < everyMinuteFor / MINUTE ? MINUTE : SLOW_INTERVAL;
    for (let batch = 0; batch < 60; batch += 1) {
      const pending: Promise<void>[] = [];
      for (let client = batch; client < CLIENTS; client += 60) pending.push(call(client, round));
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
  return { hostname: `workstation-${client}-${machine}`, ip, info, peer: ip };
}

const holder = { product: PRODUCT, user: userName(0), licenseId: null, peer: "10.0.0.1" };

function unknownUser(index: number) {
  return { product: PRODUCT, user: `unknown-${index}`, licenseId: null, peer: "10.0.0.1" };
}

/** The previous checkpoint is kept, and the journal since then. */
const EXPECTED_FILES = "2 generations of the state, 2 segments of the journal";

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

function refusalKey({ product, code }: RefusalsCounted): string {
  return JSON.stringify([product, code]);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

await checkRefusals();
await checkHeartbeats();
await checkShifts();
finish();
