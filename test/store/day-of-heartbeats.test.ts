// A day of heartbeats that could fill a disk, in simulated time on a real folder. It is played for a
// part of the clients, and what is left behind grows with their number and nothing else; the fault
// suite `day` plays it for all of them.
import { expect, test } from "bun:test";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { DAY, HOUR, later, MINUTE } from "../../src/domain/time.ts";
import { FaultyDisk } from "../support/faulty-disk.ts";
import {
  transactOrThrow,
  transactInOneBatch,
  readLines,
  openSite,
} from "../support/licensed-store.ts";
import { install, MONDAY, register } from "../support/scenario.ts";

const CLIENTS = 50;
const AT_A_LARGE_SITE = 10_000;
const MOST_BYTES = 50_000_000;
/**
 * A segment is closed at 8 MiB, as it is looked at once a second; with the one before, which the
 * kept checkpoint needs, two are left.
 */
const JOURNAL_BYTES = 2 * (8 * 1024 * 1024 + 200_000);

const userOf = (client: number): string => `user-${client}@initrode.example`;

/** Every user has two machines, which take turns with every minute. */
function contactOf(client: number, minute: number) {
  const machine = minute % 2;
  const ip = `10.${machine}.${client >> 8}.${client & 255}`;
  const info = `up ${minute} minutes, ${minute % 7} documents open`;
  return { hostname: `workstation-${client}-${machine}`, ip, info, peer: ip };
}

const bytesIn = (folder: string, names: RegExp): number =>
  readdirSync(folder)
    .filter((name) => names.test(name))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);

test("a day of heartbeats from two machines in turn leaves less than 50 MB for 10,000 clients", async () => {
  const disk = new FaultyDisk();
  disk.hasRealSync = false;
  const { store, folder, clock, stop } = await openSite({ disk });
  await transactOrThrow(store, install(1, { slots: CLIENTS }));
  for (let minute = 0; minute < DAY / MINUTE; minute += 1) {
    clock.now = later(MONDAY, minute * MINUTE);
    const clients = Array.from({ length: CLIENTS }, (_, client) =>
      register(userOf(client), { contact: contactOf(client, minute) }),
    );
    await transactInOneBatch(store, ...clients);
    if (minute % (HOUR / MINUTE) === 0) await store.checkpoint();
  }
  await stop();
  expect(store.health().checkpointError).toBeNull();

  const months = readdirSync(join(folder, "history"));
  const lines = months.flatMap((name) => readLines(join(folder, "history", name)));
  const types: Record<string, number> = {};
  for (const { type } of lines.flatMap(({ line }) => line.events)) {
    types[type] = (types[type] ?? 0) + 1;
  }
  expect(types).toEqual({
    Created: 1,
    LicenseInstalled: 1,
    SlotTaken: CLIENTS,
    ContactChanged: CLIENTS,
  });
  const kept = bytesIn(join(folder, "history"), /./) + bytesIn(folder, /^state.*\.json$/);
  expect(bytesIn(folder, /^state.*\.json$/)).toBeGreaterThan(2 * CLIENTS * 200);
  const projected = (kept / CLIENTS) * AT_A_LARGE_SITE + JOURNAL_BYTES;
  expect(projected).toBeLessThan(MOST_BYTES);
});
