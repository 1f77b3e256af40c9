// `berth move out` and `berth move in` are killed at each of their steps. At no time can two hosts
// grant slots: if a file exists with which another host could go on, the old host has stopped. And
// whatever a killed command leaves, it succeeds when it is run again.
import { beforeAll, describe, expect, onTestFinished, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startBinary, type ServerProcess } from "../support/binary.ts";
import { killCommand, spawnBerth } from "../support/kill-command.ts";
import { runBerth, runOrThrow } from "../support/run-berth.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { atEnd, chooseSize } from "../support/suite-harness.ts";

const KILLS_OUT = chooseSize(5, 60);
const KILLS_IN = chooseSize(4, 40);

const LISTEN = ["--listen", "127.0.0.1:0"];
/** Another machine for every license. */
const NEW_HOST = ["--identity", "new-host", ...LISTEN];

/** On a disk: in memory a sync costs nothing, and most steps are too short to be seen. */
const root = mkdtempSync(join(tmpdir(), "berth-test-"));
atEnd(() => rmSync(root, { recursive: true, force: true }));

/** A stopped site in which ada holds a slot. */
const site = join(root, "site");

beforeAll(async () => {
  await makeLicensedSite(site, { product: "cad" });
  const server = await startBinary("serve", "--data", site, ...LISTEN);
  expect(await register(server, "ada")).toBe(200);
  expect(await server.stop()).toBe(0);
});

async function register({ url }: ServerProcess, user: string): Promise<number> {
  const response = await fetch(`${url}/api/v4/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ user }),
  });
  return response.status;
}

async function serve(folder: string, flags: readonly string[]): Promise<ServerProcess> {
  const server = await startBinary("serve", "--data", folder, ...flags);
  onTestFinished(() => server.kill());
  return server;
}

/** A busy machine may kill later than it should: then it is tried more often. */
const hasMissing = (outcomes: Readonly<Record<string, number>>): boolean =>
  Object.values(outcomes).includes(0);

/** Whether the host grants slots; it keeps ada's in any case. */
async function isServing(folder: string, flags: readonly string[]): Promise<boolean> {
  const server = await serve(folder, flags).catch((error: unknown) => {
    expect(String(error)).toContain("was moved to another host on ");
    return null;
  });
  if (server === null) return false;
  const response = await fetch(`${server.url}/api/admin/v1/registrations`);
  expect(await response.json()).toContainEqual(expect.objectContaining({ user: "ada" }));
  expect(await register(server, "bob")).toBe(200);
  expect(await server.stop()).toBe(0);
  return true;
}

/** The files of a folder with which another host could go on, each tried by itself. */
async function findUsable(folder: string): Promise<string[]> {
  const usable: string[] = [];
  for (const name of readdirSync(folder)) {
    const target = join(root, `tried-${crypto.randomUUID()}`);
    const { code } = await runBerth(["move", "in", join(folder, name), "--data", target]);
    if (code === 0) usable.push(name);
    rmSync(target, { recursive: true, force: true });
  }
  return usable;
}

/** The files that appear beside each other, in this order; null: a random instant. */
const STEPS_OUT = [
  /^site\.move\.trial\..*new$/,
  /^site\.move\.trial$/,
  /^site\.move\.[0-9a-f]+\.new$/,
  /^site\.move$/,
  null,
] as const;

describe("a killed berth move out", () => {
  test(`leaves a host that serves, or one that has stopped, and is repeated (${KILLS_OUT} kills)`, async () => {
    const outcomes = { serving: 0, stopped: 0 };
    let longest = 0;
    for (let round = 0; round <= KILLS_OUT || hasMissing(outcomes); round += 1) {
      const folder = join(root, `old-${round}`);
      cpSync(site, folder, { recursive: true });
      const outbox = join(root, `outbox-${round}`);
      mkdirSync(outbox);
      const file = join(outbox, "site.move");
      // Every second time a server runs: then the command asks it to stop granting.
      const server = round % 2 === 1 ? await serve(folder, LISTEN) : null;
      const started = performance.now();
      const moveOut = spawnBerth("move", "out", file, "--yes", "--data", folder);
      // The first command is not killed, to measure how long it takes.
      const name = round === 0 ? /^never$/ : (STEPS_OUT[round % STEPS_OUT.length] ?? null);
      await killCommand(moveOut, { folder: outbox, name, longest });
      if (round === 0) longest = performance.now() - started;

      const wasGranting = server === null ? null : (await register(server, "bob")) === 200;
      await server?.stop();
      const usable = await findUsable(outbox);
      expect(usable.length === 0 || usable.join() === "site.move").toBe(true);
      const serves = await isServing(folder, LISTEN);
      if (wasGranting !== null) expect(wasGranting).toBe(serves);
      if (usable.length > 0) expect(serves).toBe(false);
      outcomes[serves ? "serving" : "stopped"] += 1;

      if (usable.length === 0) await runOrThrow(["move", "out", file, "--yes", "--data", folder]);
      const target = join(root, `new-${round}`);
      await runOrThrow(["move", "in", file, "--data", target]);
      expect(await isServing(target, NEW_HOST)).toBe(true);
      expect(await isServing(folder, LISTEN)).toBe(false);
      for (const path of [folder, outbox, target]) rmSync(path, { recursive: true });
    }
    console.log(JSON.stringify(outcomes));
  });
});

const STEPS_IN = [/^restore\.new$/, /^restoring-/, /^arriving-/, null] as const;

describe("a killed berth move in", () => {
  test(`leaves the whole site or nothing, and is repeated (${KILLS_IN} kills)`, async () => {
    const file = join(root, "site.move");
    const old = join(root, "old");
    cpSync(site, old, { recursive: true });
    await runOrThrow(["move", "out", file, "--yes", "--data", old]);
    let longest = 0;
    const outcomes = { nothing: 0, whole: 0 };
    for (let round = 0; round <= KILLS_IN || hasMissing(outcomes); round += 1) {
      const folder = join(root, `in-${round}`);
      const started = performance.now();
      const moveIn = spawnBerth("move", "in", file, "--data", folder);
      const name = round === 0 ? /^never$/ : (STEPS_IN[round % STEPS_IN.length] ?? null);
      await killCommand(moveIn, { folder, name, longest });
      if (round === 0) longest = performance.now() - started;
      // A start finishes what has taken effect; a repeated command does it all.
      const names = round === 0 ? ["state.json"] : listNames(folder);
      const isCommitted = names.some((other) => /^(?:restoring|arriving|state)/.test(other));
      outcomes[isCommitted ? "whole" : "nothing"] += 1;
      if (!isCommitted) await runOrThrow(["move", "in", file, "--data", folder]);
      expect(await isServing(folder, NEW_HOST)).toBe(true);
      const repeated = await runBerth(["move", "in", file, "--data", folder]);
      expect([repeated.code, repeated.stderr]).toEqual([
        1,
        expect.stringContaining("was already moved in here"),
      ]);
      rmSync(folder, { recursive: true });
    }
    console.log(JSON.stringify(outcomes));
    expect(await isServing(old, LISTEN)).toBe(false);
  });
});

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
