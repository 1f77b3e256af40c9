import { expect, onTestFinished, test } from "bun:test";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Event } from "../../src/domain/model/event.ts";
import { instant } from "../../src/domain/time.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { encodeLine, genesisHead } from "../../src/store/journal/journal.ts";
import { replay } from "../../src/store/journal/replay.ts";
import { STATE_FORMAT } from "../../src/store/state/snapshot.ts";
import { buildBinary, runBinary, serveAsSeparateMachine } from "../support/binary.ts";
import { listSegmentNames } from "../support/licensed-store.ts";
import {
  readExpectedContents,
  listFixtureFormats,
  copyFixtureFolder,
} from "../support/old-formats.ts";
import { contentsOf } from "../support/temp-folder.ts";

/** The machine identity with which these folders were written. */
const IDENTITY = ["--identity", "fixture"];

const OLDEST = Math.min(...listFixtureFormats());

function runJsonOrThrow(...args: string[]): unknown {
  const child = Bun.spawnSync([buildBinary(), ...args, "--json"], { cwd: "/", env: {} });
  expect([child.exitCode, child.stderr.toString()]).toEqual([0, ""]);
  return JSON.parse(child.stdout.toString());
}

const readFormat = (folder: string): unknown =>
  (JSON.parse(readFileSync(join(folder, "state.json"), "utf8")) as { format: unknown }).format;

/** The licenses as stored in the file: pairs of an id and a license. */
type LicenseRows = readonly (readonly [
  id: number,
  license: {
    readonly terms: { readonly product: string; readonly slots: number };
    readonly grant: { readonly vendor: string; readonly serial: number };
    readonly pool: {
      readonly holders: readonly (readonly [string, { user: string; end: number }])[];
    };
  },
])[];

test.each(listFixtureFormats())(
  "a folder of format %i is served, and has the current format after a stop",
  async (format) => {
    const { seq, audit_seq, state } = readExpectedContents(format);
    const licenses = state.licenses as unknown as LicenseRows;
    const folder = copyFixtureFolder(format);
    expect(readFormat(folder)).toBe(format);
    expect(runJsonOrThrow("verify", "--data", folder)).toMatchObject({ seq, audit_seq });
    const siteFlags = ["--data", folder, ...IDENTITY];
    const server = await serveAsSeparateMachine(folder, ...IDENTITY, "--listen", "127.0.0.1:0");
    onTestFinished(() => server.kill());
    const status = runJsonOrThrow("status", ...siteFlags) as {
      readonly now: string;
      readonly licenses: { readonly license_id: number }[];
    };
    expect(status).toMatchObject({
      kind: state.kind,
      pid: server.pid,
      created_at: new Date(Number(state.createdAt)).toISOString(),
      appliance: { id: state.appliance, components: ["named"], weak_binding: true },
      storage: { fault: null, checkpoint_error: null, recovery_notes: [] },
    });
    const byId = (a: { license_id: number }, b: { license_id: number }): number =>
      a.license_id - b.license_id;
    expect(status.licenses.toSorted(byId)).toMatchObject(
      licenses.map(([id, { terms, grant }]) => ({
        license_id: id,
        product: terms.product,
        refusal: null,
        vendor: grant.vendor,
        serial: grant.serial,
        hardware_drift: [],
        floating_users: terms.slots,
      })),
    );
    // Of the registrations in the fixture, only those that have not expired are listed.
    const registrations = licenses.flatMap(([, { pool }]) => pool.holders.map(([, slot]) => slot));
    const now = Date.parse(status.now);
    const slots = runJsonOrThrow("slots", ...siteFlags) as { user: string }[];
    expect(slots.map(({ user }) => user).toSorted()).toEqual(
      registrations
        .filter(({ end }) => now < end)
        .map(({ user }) => user)
        .toSorted(),
    );
    expect(await server.stop()).toBe(0);
    expect(readFormat(folder)).toBe(STATE_FORMAT);
    const after = runJsonOrThrow("verify", "--data", folder) as Record<
      "seq" | "checkpoint_seq",
      number
    >;
    expect(after.seq).toBeGreaterThanOrEqual(seq);
    expect(after.checkpoint_seq).toBe(after.seq);
  },
);

test.each(listFixtureFormats())(
  "a folder of format %i is migrated by a server start, and not by commands that only read it",
  async (format) => {
    const folder = copyFixtureFolder(format);
    const siteFlags = ["--data", folder, ...IDENTITY];
    const journal = listSegmentNames(folder).map((name) =>
      readFileSync(join(folder, name), "utf8"),
    );
    for (const command of ["status", "slots", "audit"]) runJsonOrThrow(command, ...siteFlags);
    expect(readFormat(folder)).toBe(format);
    expect(
      listSegmentNames(folder).map((name) => readFileSync(join(folder, name), "utf8")),
    ).toEqual(journal);
    const server = await serveAsSeparateMachine(folder, ...IDENTITY, "--listen", "127.0.0.1:0");
    onTestFinished(() => server.kill());
    expect(readFormat(folder)).toBe(STATE_FORMAT);
    runJsonOrThrow("admin", "token", "--name", "ops", ...siteFlags);
    await server.kill();
    expect(readFormat(folder)).toBe(STATE_FORMAT);
    expect(runJsonOrThrow("verify", "--data", folder)).toMatchObject({ kind: "site" });
  },
);

test("a journal with an event of a newer version is refused with exit code 78 by every command", async () => {
  const folder = copyFixtureFolder(OLDEST);
  const path = join(folder, listSegmentNames(folder).at(-1) ?? "");
  const { head } = (await replay(realDisk, folder)) ?? { head: genesisHead };
  const text = `{"type":"SlotLent","at":${Date.now()},"license":1,"user":"ada"}`;
  const at = instant(Date.now());
  appendFileSync(path, encodeLine(head, null, at, [JSON.parse(text) as Event]).text);
  const before = contentsOf(folder);
  const listen = ["--listen", "127.0.0.1:0"];
  for (const args of [["serve", ...IDENTITY, ...listen], ["verify"], ["audit", ...IDENTITY]]) {
    const { code, stderr } = await runBinary([...args, "--data", folder]);
    expect([code, stderr]).toEqual([
      78,
      `berth: error: ${path}: line ${head.seq + 1} contains an event that this version of berth does not know: SlotLent\n` +
        "berth: hint: a newer version of berth wrote it: start that version, or a newer one; nothing was changed\n",
    ]);
  }
  const { lock: _lock, "checkpoint.lock": _other, ...after } = contentsOf(folder);
  expect(after).toEqual(before);
});
