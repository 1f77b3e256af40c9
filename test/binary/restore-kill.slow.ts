import { expect, onTestFinished, test } from "bun:test";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startBinary } from "../support/binary.ts";
import { killCommand, spawnBerth } from "../support/kill-command.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { contentsOf } from "../support/temp-folder.ts";
import { chooseSize } from "../support/suite-harness.ts";

const KILLS = chooseSize(10, 20);
const LISTEN = ["--listen", "127.0.0.1:0"];

/** The file names that appear at each step of a restore; null: a random instant. */
const STEPS = [/^restore\.new$/, /^restoring-/, /^replaced-/, /^arriving-/, null] as const;

const STORED = /^(?:state|journal|identity|history)/;

interface BackedUpSite {
  readonly file: string;
  readonly folder: string;
}

/** A stopped folder in which ada and bob hold slots, and a backup without bob. */
async function prepare(root: string): Promise<BackedUpSite> {
  const [folder, file] = [join(root, "data"), join(root, "site.berth")];
  await makeLicensedSite(folder, { product: "cad" });
  const server = await startBinary("serve", "--data", folder, ...LISTEN);
  const register = (user: string): Promise<Response> =>
    fetch(`${server.url}/api/v4/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ user }),
    });
  expect((await register("ada")).status).toBe(200);
  expect(await spawnBerth("backup", file, "--data", folder).exited).toBe(0);
  expect((await register("bob")).status).toBe(200);
  expect(await server.stop()).toBe(0);
  return { file, folder };
}

/** Starts a server on the folder, and returns its users and its recovery notes. */
async function startAndRead(folder: string): Promise<{ users: string[]; notes: string }> {
  const server = await startBinary("serve", "--data", folder, ...LISTEN);
  const get = async (path: string): Promise<unknown> =>
    (await fetch(`${server.url}/api/admin/v1/${path}`)).json();
  const slots = (await get("registrations")) as { user: string }[];
  const { storage } = (await get("status")) as { storage: { recovery_notes: string[] } };
  expect(await server.stop()).toBe(0);
  return { users: slots.map(({ user }) => user), notes: storage.recovery_notes.join("\n") };
}

test(`a killed restore leaves the old contents or the new ones, and loses no file (${KILLS} kills)`, async () => {
  // On a disk: in memory a sync costs nothing, and most steps are too short to be seen.
  const root = mkdtempSync(join(tmpdir(), "berth-test-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const site = await prepare(root);
  const old = contentsOf(site.folder);
  const outcomes: Record<"old" | "new", number> = { old: 0, new: 0 };
  let longest = 0;
  for (let round = 0; round <= KILLS; round += 1) {
    const folder = join(root, `round-${round}`);
    cpSync(site.folder, folder, { recursive: true });
    const started = performance.now();
    // The first restore is not killed, to measure how long it takes.
    const name = round === 0 ? /^never$/ : (STEPS[round % STEPS.length] ?? null);
    const restore = spawnBerth("restore", site.file, "--data", folder, "--accept-loss");
    const code = await killCommand(restore, { folder, name, longest });
    if (round === 0) longest = performance.now() - started;
    const names = readdirSync(folder);
    const isCommitted = names.some((name) => /^(?:restoring|replaced|arriving)-/.test(name));

    const { users, notes } = await startAndRead(folder);
    expect(users).toEqual(isCommitted ? ["ada"] : ["ada", "bob"]);
    if (code === 0) expect(isCommitted).toBe(true);
    const wasUnfinished = names.some((name) => /^(?:restoring|arriving)-/.test(name));
    expect(notes.includes("an interrupted restore was finished")).toBe(wasUnfinished);
    expect(await spawnBerth("verify", "--data", folder).exited).toBe(0);
    if (isCommitted) {
      const replaced = readdirSync(folder).find((name) => name.startsWith("replaced-")) ?? "";
      const { ".": mode, ...replacedFiles } = contentsOf(join(folder, replaced));
      expect(mode).toBe("700");
      for (const name of Object.keys(old)) {
        if (STORED.test(name)) expect(replacedFiles[name] ?? "gone").toBe(old[name] ?? "");
      }
    }
    outcomes[isCommitted ? "new" : "old"] += 1;
    rmSync(folder, { recursive: true });
  }
  expect(Math.min(outcomes.old, outcomes.new)).toBeGreaterThan(0);
});
