// A day at a large site, in simulated time on a real folder: what is left behind stays bounded.
// Heartbeats must not fill the disk, everything else is in the record once, and callers who are
// refused all day are only counted.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { RefusalsCounted } from "../../../src/domain/event.ts";
import { DAY, HOUR, MINUTE } from "../../../src/domain/time.ts";
import { realDisk } from "../../../src/platform/disk.ts";
import { listGenerations, AUDIT_FOLDER, listSegments } from "../../../src/store/files.ts";
import { readLines, type RawLine } from "../../support/licensed-store.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { check, finish, makeTempFolder, chooseSize } from "../../support/suite-harness.ts";
import { measureFolder, DaySite } from "./day-site.ts";
import { ManualTime } from "./manual-time.ts";

const CLIENTS = 10_000;
const PRODUCT = "cad";
/** For how long everybody renews every minute; for the rest of a day, as often as there is time. */
const FULL_PACE = chooseSize(HOUR, DAY);
const SLOW_PACE = 30 * MINUTE;
const MOST = 50_000_000;
const REFUSED = 100_000;

const time = new ManualTime();
const site = await siteFor(CLIENTS);

async function siteFor(slots: number): Promise<DaySite> {
  const folder = makeTempFolder();
  await makeLicensedSite(folder, { product: PRODUCT, slots, timeoutMinutes: 120 });
  return new DaySite(folder, time);
}

/** An hour of callers who want what cannot be had. */
async function refusals(): Promise<void> {
  const full = await siteFor(1);
  await full.open();
  const { operations } = full;
  const asked = { licenseId: null, contact: contactOf(0, 0), nonce: null };
  const held = await operations.register({ ...asked, product: PRODUCT, user: userOf(0) });
  const wanting: readonly ((turn: number) => Promise<{ readonly ok: boolean }>)[] = [
    (turn) => operations.register({ ...asked, product: PRODUCT, user: `late-${turn}` }),
    (turn) => operations.register({ ...asked, product: `guess-${turn}`, user: "eve" }),
    () => operations.register({ ...asked, product: PRODUCT, user: null }),
    (turn) => operations.registerFeature({ ...ofHolder, feature: `guess-${turn}` }),
    (turn) => operations.unregister({ ...ofNobody(turn), by: "user" }),
  ];
  const written = operations.health().seq;
  let granted = 0;
  for (let turn = 0; turn < REFUSED; turn += 1) {
    const answer = await wanting[turn % wanting.length]?.(turn);
    if (answer?.ok !== false) granted += 1;
    await full.advance(HOUR / REFUSED);
  }
  // The last ones are counted too before the stop, which would not wait for their minute.
  await full.advance(MINUTE);
  const lines = operations.health().seq - written;
  await full.close();
  const events = recorded(full.folder).flatMap(countedIn);
  const total = events.reduce((sum, { count }) => sum + count, 0);
  check(
    `${REFUSED} refused calls in an hour write ${lines} lines; ${total} are counted`,
    held.ok && granted === 0 && total === REFUSED && lines <= HOUR / MINUTE,
    { held, granted, lines, total },
  );
  const last = new Map<string, number>();
  const early: RefusalsCounted[] = [];
  for (const event of events) {
    if (event.at - (last.get(keyOf(event)) ?? -Infinity) < MINUTE) early.push(event);
    last.set(keyOf(event), event.at);
  }
  const named = Math.max(...events.map(({ users }) => users.length));
  check(
    `${events.length} events for ${last.size} kinds of refusal, one a minute for each, naming ` +
      `${named} users at most`,
    early.length === 0 && named <= 20 && last.size === wanting.length,
    { kinds: [...last.keys()].slice(0, 20), named, early: early.slice(0, 3) },
  );
}

/**
 * They arrive in the first interval; from then on there is nothing but renewals, from two machines
 * in turn under each name and with another user_info each time.
 */
async function heartbeats(): Promise<void> {
  const before = recorded(site.folder).length;
  await site.open();
  const { calls, refused } = await simulateDay(FULL_PACE, "two machines");
  check(
    `a day of ${CLIENTS} clients on two machines each, ${FULL_PACE / HOUR} h of it renewing every ` +
      `minute, ${calls} calls ` +
      `and ${site.checkpointCount} checkpoints: at most ${megabytes(site.peak.totalBytes)} in the folder, less than ` +
      megabytes(MOST),
    site.peak.totalBytes < MOST && site.checkpointCount > 1 && refused.length === 0,
    { refused, peak: site.peak },
  );
  await site.close();
  const held = measureFolder(site.folder);
  check(
    `${megabytes(held.totalBytes)} are left, ${megabytes(held.auditLogBytes)} of it record: ${leftover(site.folder)}`,
    leftover(site.folder) === TIDY,
    held,
  );
  const lines = recorded(site.folder).slice(before);
  check(
    `the record has ${CLIENTS} arrivals, one change of machine for each, and not one renewal`,
    lines.length === 2 * CLIENTS &&
      countOf(lines, "SlotTaken") === CLIENTS &&
      countOf(lines, "ContactChanged") === CLIENTS,
    typesIn(lines),
  );
}

/** The same day, with everybody logging off and on again once. */
async function shifts(): Promise<void> {
  const before = {
    lines: recorded(site.folder).length,
    history: measureFolder(site.folder).auditLogBytes,
  };
  await site.open();
  const { calls, refused } = await simulateDay(chooseSize(0, DAY), "shifts");
  const besides = site.peak.totalBytes - site.peak.auditLogBytes;
  await site.close();
  const held = measureFolder(site.folder);
  const lines = recorded(site.folder).slice(before.lines);
  const grown = held.auditLogBytes - before.history;
  check(
    `when everybody logs off and on once, the record grows by ${lines.length} lines, ` +
      `${megabytes(grown)}: ${Math.round(grown / lines.length)} bytes each`,
    refused.length === 0 &&
      // The machine of the day before, which was not the last one on record.
      lines.length <= 3 * CLIENTS &&
      lines.length === 2 * CLIENTS + countOf(lines, "ContactChanged") &&
      countOf(lines, "SlotReleased") === CLIENTS &&
      countOf(lines, "SlotTaken") === CLIENTS,
    { refused, types: typesIn(lines) },
  );
  check(
    `and nothing else grows in ${calls} calls: at most ${megabytes(besides)} besides the record, ` +
      `${megabytes(held.totalBytes - held.auditLogBytes)} left: ${leftover(site.folder)}`,
    besides < MOST && leftover(site.folder) === TIDY,
    { held, peak: site.peak },
  );
}

interface DayResult {
  readonly calls: number;
  /** Answers that should not have been; the first few. */
  readonly refused: readonly unknown[];
}

/**
 * Everybody calls once in a round, a sixtieth of them at a time: the first rounds take a minute,
 * the others longer. With shifts, everybody logs off right before one of the calls.
 */
async function simulateDay(fullPace: number, kind: "two machines" | "shifts"): Promise<DayResult> {
  const rounds = fullPace / MINUTE + (DAY - fullPace) / SLOW_PACE;
  const refused: unknown[] = [];
  let calls = 0;
  const note = (answer: { readonly ok: boolean }): void => {
    calls += 1;
    if (!answer.ok && refused.length < 3) refused.push(answer);
  };
  const call = async (client: number, round: number): Promise<void> => {
    const asked = { product: PRODUCT, user: userOf(client), licenseId: null };
    const contact = contactOf(client, kind === "shifts" ? 0 : round);
    if (kind === "shifts" && client % rounds === round) {
      note(await site.operations.unregister({ ...asked, by: "user", peer: contact.peer }));
    }
    note(await site.operations.register({ ...asked, contact, nonce: null }));
  };
  for (let round = 0; round < rounds; round += 1) {
    const length = round < fullPace / MINUTE ? MINUTE : SLOW_PACE;
    for (let first = 0; first < 60; first += 1) {
      const due: Promise<void>[] = [];
      for (let client = first; client < CLIENTS; client += 60) due.push(call(client, round));
      await Promise.all(due);
      await site.advance(length / 60);
    }
    // Grown too far already: the rest of the day cannot mend that.
    if (site.peak.totalBytes - site.peak.auditLogBytes >= MOST) break;
  }
  return { calls, refused };
}

function userOf(client: number): string {
  return `user-${client}@initrode.example`;
}

function contactOf(client: number, round: number) {
  const machine = round % 2;
  const ip = `10.${machine}.${client >> 8}.${client & 255}`;
  const info = `up ${round} minutes, ${round % 7} documents open`;
  return { hostname: `workstation-${client}-${machine}`, ip, info, peer: ip };
}

const ofHolder = { product: PRODUCT, user: userOf(0), licenseId: null, peer: "10.0.0.1" };

function ofNobody(turn: number) {
  return { product: PRODUCT, user: `nobody-${turn}`, licenseId: null, peer: "10.0.0.1" };
}

/** The checkpoint before this one stays, and the journal since. */
const TIDY = "2 generations of the state, 2 segments of the journal";

function leftover(folder: string): string {
  const states = listGenerations(realDisk, folder).length + 1;
  return `${states} generations of the state, ${listSegments(realDisk, folder).length} segments of the journal`;
}

/** All of the record, in order. */
function recorded(folder: string): RawLine[] {
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

function countedIn({ line }: RawLine): RefusalsCounted[] {
  return line.events.filter((event) => event.type === "RefusalsCounted");
}

function keyOf({ product, code }: RefusalsCounted): string {
  return JSON.stringify([product, code]);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

await refusals();
await heartbeats();
await shifts();
finish();
