// A day of heartbeats that could fill a disk, in simulated time on a real folder. The test runs a
// part of the clients, because the data left on disk grows only with their number; the fault suite
// `day` runs all of them.
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
import { makeContact } from "../support/contact.ts";

const CLIENTS = 50;
const LARGE_SITE_CLIENTS = 10_000;
const MAX_BYTES = 50_000_000;
/**
 * A segment is closed at 8 MiB, which is checked once a second. Two segments are left, because the
 * kept checkpoint needs the one before.
 */
const JOURNAL_BYTES = 2 * (8 * 1024 * 1024 + 200_000);

const userOf = (client: number): string => `user-${client}@initrode.example`;

/** Every user has two machines, which alternate every minute. */
function contactOf(client: number, minute: number) {
  const machine = minute % 2;
  const ip = `10.${machine}.${client >> 8}.${client & 255}`;
  const info = `up ${minute} minutes, ${minute % 7} documents open`;
  return makeContact({ hostname: `workstation-${client}-${machine}`, ip, info, peer: ip });
}

const bytesIn = (folder: string, names: RegExp): number =>
  readdirSync(folder)
    .filter((name) => names.test(name))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);

test("a day of heartbeats of 10,000 clients with two machines each leaves less than 50 MB on disk", async () => {
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
  expect(store.status().checkpointError).toBeNull();

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
  const storedBytes = bytesIn(join(folder, "history"), /./) + bytesIn(folder, /^state.*\.json$/);
  expect(bytesIn(folder, /^state.*\.json$/)).toBeGreaterThan(2 * CLIENTS * 200);
  const projected = (storedBytes / CLIENTS) * LARGE_SITE_CLIENTS + JOURNAL_BYTES;
  expect(projected).toBeLessThan(MAX_BYTES);
});
