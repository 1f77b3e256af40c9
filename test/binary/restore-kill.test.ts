import { expect, onTestFinished, test } from "bun:test";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildBinary, startBinary } from "../support/binary.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { contentsOf } from "../support/temp-folder.ts";

const KILLS = 20;
const LISTEN = ["--listen", "127.0.0.1:0"];

/** What a restore leaves to be seen, step by step; null: no step, just some moment. */
const STEPS = [/^restore\.new$/, /^restoring-/, /^replaced-/, /^arriving-/, null] as const;

const STORED = /^(?:state|journal|identity|history)/;

const startBerth = (...words: string[]) =>
  Bun.spawn([buildBinary(), ...words], { cwd: "/", env: {}, stdout: "ignore", stderr: "ignore" });

interface BackedUpSite {
  readonly file: string;
  readonly folder: string;
}

/** A stopped folder where ada and bob hold slots, and a backup from before bob came. */
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
  expect(await startBerth("backup", file, "--data", folder).exited).toBe(0);
  expect((await register("bob")).status).toBe(200);
  expect(await server.stop()).toBe(0);
  return { file, folder };
}

/** Kills a restore when it comes to a step, or at a random moment of the time it takes. */
async function killRestoreAt(
  step: RegExp | null,
  { file, folder }: BackedUpSite,
  longest: number,
): Promise<number> {
  const child = startBerth("restore", file, "--data", folder, "--accept-loss");
  if (step === null) {
    await Promise.race([Bun.sleep(Math.random() * longest), child.exited]);
  } else {
    // Without a pause: a step may be over within a millisecond.
    while (child.exitCode === null && !readdirSync(folder).some((name) => step.test(name))) {
      await new Promise(setImmediate);
    }
  }
  child.kill("SIGKILL");
  return child.exited;
}

/** What a start makes of the folder, and what it says of it. */
async function startAndRead(folder: string): Promise<{ users: string[]; notes: string }> {
  const server = await startBinary("serve", "--data", folder, ...LISTEN);
  const get = async (path: string): Promise<unknown> =>
    (await fetch(`${server.url}/api/admin/v1/${path}`)).json();
  const slots = (await get("registrations")) as { user: string }[];
  const { storage } = (await get("status")) as { storage: { recovery_notes: string[] } };
  expect(await server.stop()).toBe(0);
  return { users: slots.map(({ user }) => user), notes: storage.recovery_notes.join("\n") };
}

test(`a restore killed ${KILLS} times leaves the old folder or the new one, and nothing is lost`, async () => {
  // On a disk: in memory, where a sync costs nothing, most of its steps are over at once.
  const root = mkdtempSync(join(tmpdir(), "berth-test-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const site = await prepare(root);
  const old = contentsOf(site.folder);
  const seen: Record<"old" | "new", number> = { old: 0, new: 0 };
  let longest = 0;
  for (let round = 0; round <= KILLS; round += 1) {
    const folder = join(root, `round-${round}`);
    cpSync(site.folder, folder, { recursive: true });
    const started = performance.now();
    // The first one is not killed, to know how long it takes.
    const step = round === 0 ? /^never$/ : (STEPS[round % STEPS.length] ?? null);
    const code = await killRestoreAt(step, { ...site, folder }, longest);
    if (round === 0) longest = performance.now() - started;
    const left = readdirSync(folder);
    const counts = left.some((name) => /^(?:restoring|replaced|arriving)-/.test(name));

    const { users, notes } = await startAndRead(folder);
    expect(users).toEqual(counts ? ["ada"] : ["ada", "bob"]);
    if (code === 0) expect(counts).toBe(true);
    const finished = left.some((name) => /^(?:restoring|arriving)-/.test(name));
    expect(notes.includes("an interrupted restore was finished")).toBe(finished);
    expect(await startBerth("verify", "--data", folder).exited).toBe(0);
    if (counts) {
      const replaced = readdirSync(folder).find((name) => name.startsWith("replaced-")) ?? "";
      const { ".": mode, ...kept } = contentsOf(join(folder, replaced));
      expect(mode).toBe("700");
      for (const name of Object.keys(old)) {
        if (STORED.test(name)) expect(kept[name] ?? "gone").toBe(old[name] ?? "");
      }
    }
    seen[counts ? "new" : "old"] += 1;
    rmSync(folder, { recursive: true });
  }
  expect(Math.min(seen.old, seen.new)).toBeGreaterThan(0);
});
