import { expect, onTestFinished, test } from "bun:test";
import { cpSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DAY, later } from "../../src/domain/time.ts";
import { Identity } from "../../src/operations/appliance/identity.ts";
import { wallClock } from "../../src/platform/clock.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { readMachineComponents } from "../../src/platform/system/machine.ts";
import { checkpoint } from "../../src/store/checkpoint/checkpoint.ts";
import { Store } from "../../src/store/store.ts";
import { buildMultiMachineBinary, MACHINE_VARIABLE } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** A folder that was created 200 days ago and has an audit file of that month. */
async function makeOldSite(): Promise<{ readonly folder: string; readonly firstMonth: string }> {
  const folder = join(tempFolder(), "data");
  const identity = new Identity(realDisk, folder, readMachineComponents());
  const createdAt = later(wallClock(), -200 * DAY);
  const store = await Store.open({
    disk: realDisk,
    folder,
    kind: "site",
    create: true,
    clock: () => createdAt,
    identify: () => identity.create(),
    checkpoint: (where, open) => checkpoint(realDisk, where, open),
    onFatal(error) {
      throw error;
    },
  });
  await store.close();
  const [firstMonth = ""] = readdirSync(join(folder, "history"));
  expect(firstMonth).toBe(`${new Date(createdAt).toISOString().slice(0, 7)}.jsonl`);
  return { folder, firstMonth };
}

const runBerth = (...args: string[]) =>
  Bun.spawnSync([buildMultiMachineBinary(), ...args], { cwd: "/", env: {} });

/** Starts a server, adds a line to the audit log, and stops the server. */
async function serveOnce(folder: string, args: readonly string[], env: Record<string, string>) {
  const listen = ["--data", folder, "--listen", "127.0.0.1:0"];
  const child = Bun.spawn([buildMultiMachineBinary(), "serve", ...listen, ...args], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    cwd: "/",
    // Copies of one folder are served at the same time.
    env: { ...env, [MACHINE_VARIABLE]: folder },
  });
  onTestFinished(() => child.kill("SIGKILL"));
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    text += decoder.decode(chunk, { stream: true });
    if (/^ready$/m.test(text)) break;
  }
  expect(runBerth("license", "request", "--data", folder, "--json").exitCode).toBe(0);
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
  expect(await child.stderr.text()).not.toContain("months");
}

test("--audit-keep-months removes old audit months, set by flag, environment or config file", async () => {
  const { folder, firstMonth } = await makeOldSite();
  const writeConfig = (text: string): string => {
    const path = join(tempFolder(), "berth.toml");
    writeFileSync(path, `${text}\n`);
    return path;
  };
  const cases: readonly [string[], Record<string, string>, isKept: boolean][] = [
    [[], {}, true],
    [["--audit-keep-months", "12"], {}, true],
    [["--audit-keep-months", "2"], {}, false],
    [[], { BERTH_AUDIT_KEEP_MONTHS: "2" }, false],
    [["--config", writeConfig("audit_keep_months = 2")], {}, false],
  ];
  await Promise.all(
    cases.map(async ([args, env, isKept]) => {
      const copy = join(tempFolder(), "data");
      cpSync(folder, copy, { recursive: true });
      await serveOnce(copy, args, env);
      // The file is dropped at one checkpoint and removed at the next, because the older checkpoint
      // still needs it.
      expect(readdirSync(join(copy, "history"))).toContain(firstMonth);
      await serveOnce(copy, args, env);
      const files = readdirSync(join(copy, "history"));
      expect([args, env, files.includes(firstMonth)]).toEqual([args, env, isKept]);
      const verified = runBerth("verify", "--data", copy, "--json");
      expect(verified.exitCode).toBe(0);
      const { audit_from, audit_lines, audit_seq } = JSON.parse(verified.stdout.toString()) as {
        audit_from: number;
        audit_lines: number;
        audit_seq: number;
      };
      expect(audit_from).toBe(isKept ? 1 : 2);
      expect(audit_from + audit_lines - 1).toBe(audit_seq);
    }),
  );
});
