import { expect, onTestFinished, test } from "bun:test";
import { cpSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DAY, later } from "../../src/domain/time.ts";
import { Identity } from "../../src/operations/identity.ts";
import { wallClock } from "../../src/platform/clock.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { readMachineComponents } from "../../src/platform/machine.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import { Store } from "../../src/store/store.ts";
import { buildBinary } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** A folder that was begun half a year ago and has a file of the record from then. */
async function makeOldSite(): Promise<{ readonly folder: string; readonly first: string }> {
  const folder = join(tempFolder(), "data");
  const identity = new Identity(realDisk, folder, readMachineComponents());
  const then = later(wallClock(), -200 * DAY);
  const store = await Store.open({
    disk: realDisk,
    folder,
    kind: "site",
    create: true,
    clock: () => then,
    identify: () => identity.create(),
    checkpoint: (where, open) => checkpoint(realDisk, where, open),
    onFatal(error) {
      throw error;
    },
  });
  await store.close();
  const [first = ""] = readdirSync(join(folder, "history"));
  expect(first).toBe(`${new Date(then).toISOString().slice(0, 7)}.jsonl`);
  return { folder, first };
}

const runBerth = (...words: string[]) =>
  Bun.spawnSync([buildBinary(), ...words], { cwd: "/", env: {} });

/** One life of a server in which something happens that is kept on record. */
async function serveOnce(folder: string, words: readonly string[], env: Record<string, string>) {
  const listen = ["--data", folder, "--listen", "127.0.0.1:0"];
  const child = Bun.spawn([buildBinary(), "serve", ...listen, ...words], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    cwd: "/",
    // Copies of one folder are served at once.
    env: { ...env, BERTH_TEST_MACHINE: folder },
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

test("--audit-keep-months lets go of old months, by flag, by environment and by file", async () => {
  const { folder, first } = await makeOldSite();
  const toml = (text: string): string => {
    const path = join(tempFolder(), "berth.toml");
    writeFileSync(path, `${text}\n`);
    return path;
  };
  const said: readonly [string[], Record<string, string>, kept: boolean][] = [
    [[], {}, true],
    [["--audit-keep-months", "12"], {}, true],
    [["--audit-keep-months", "2"], {}, false],
    [[], { BERTH_AUDIT_KEEP_MONTHS: "2" }, false],
    [["--config", toml("audit_keep_months = 2")], {}, false],
  ];
  await Promise.all(
    said.map(async ([words, env, kept]) => {
      const copy = join(tempFolder(), "data");
      cpSync(folder, copy, { recursive: true });
      await serveOnce(copy, words, env);
      // Let go of with one checkpoint, gone with the next: the way back must not miss it.
      expect(readdirSync(join(copy, "history"))).toContain(first);
      await serveOnce(copy, words, env);
      const left = readdirSync(join(copy, "history"));
      expect([words, env, left.includes(first)]).toEqual([words, env, kept]);
      const verified = runBerth("verify", "--data", copy, "--json");
      expect(verified.exitCode).toBe(0);
      const { audit_from, audit_lines, audit_seq } = JSON.parse(verified.stdout.toString()) as {
        audit_from: number;
        audit_lines: number;
        audit_seq: number;
      };
      expect(audit_from).toBe(kept ? 1 : 2);
      expect(audit_from + audit_lines - 1).toBe(audit_seq);
    }),
  );
});
