import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LicenseInstalled } from "../../src/domain/model/licenses/license-event-types.ts";
import { wallClock } from "../../src/platform/clock.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { sha256 } from "../../src/platform/crypto/hash.ts";
import { makeBackup } from "../../src/operations/backups/backup.ts";
import { buildBinary, type CommandResult } from "../support/binary.ts";
import { readJournal } from "../support/licensed-store.ts";
import { runBerth } from "../support/run-berth.ts";
import { featureTerms, terms } from "../support/scenario.ts";
import { installNewLicense, makeLicensedSite, openSiteFolder } from "../support/site-folder.ts";
import { copyFolder, tempFolder } from "../support/temp-folder.ts";

const NEEDS_OPERATOR = 78;

const TERMS = {
  slots: 1,
  features: [featureTerms("view", { floating: { slots: 2, timeoutMinutes: 10 } })],
};

/** The result of a server that fails to start; null if it becomes ready, and then it is stopped. */
async function tryStart(folder: string): Promise<CommandResult | null> {
  const args = ["serve", "--data", folder, "--listen", "127.0.0.1:0"];
  const child = Bun.spawn([buildBinary(), ...args], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    cwd: "/",
    env: {},
  });
  const decoder = new TextDecoder();
  let stdout = "";
  for await (const part of child.stdout) {
    stdout += decoder.decode(part, { stream: true });
    if (!/^ready$/m.test(stdout)) continue;
    child.kill("SIGTERM");
    await child.exited;
    return null;
  }
  return { code: await child.exited, stdout, stderr: await child.stderr.text() };
}

/** A stopped site with a license for one slot in its `state.json`. */
async function makeStoppedSite(): Promise<{ readonly folder: string; readonly id: number }> {
  const folder = join(tempFolder(), "data");
  return { folder, id: await makeLicensedSite(folder, TERMS) };
}

/** Replaces a text in `state.json` and writes the matching checksum. */
function editState(folder: string, from: string | RegExp, to: string): void {
  const path = join(folder, "state.json");
  const text = readFileSync(path, "utf8");
  const edited = text.replaceAll(new RegExp(from, "g"), to);
  expect(edited).not.toBe(text);
  const content = edited.slice(0, edited.lastIndexOf('"sum":"'));
  writeFileSync(path, `${content}"sum":"${sha256(content)}"\n}\n`);
}

/** Changes the license events in the journal and rebuilds its chain with matching checksums. */
function rewriteJournal(folder: string, change: (event: LicenseInstalled) => object): string {
  const [name = "", ...more] = readdirSync(folder).filter((file) => file.startsWith("journal-"));
  expect(more).toEqual([]);
  let [prev, audit] = ["0".repeat(64), "0".repeat(64)];
  const lines = readJournal(folder).map(({ line }) => {
    const { sum: _sum, ...rest } = line;
    const events = line.events.map((event) =>
      event.type === "LicenseInstalled" ? change(event) : event,
    );
    const chained = { ...rest, ...(line.audit_seq !== undefined && { audit_prev: audit }) };
    const content = JSON.stringify({ ...chained, events, prev }).slice(0, -1);
    prev = sha256(content);
    if (line.audit_seq !== undefined) audit = prev;
    return `${content},"sum":"${prev}"}\n`;
  });
  const path = join(folder, name);
  writeFileSync(path, lines.join(""));
  return path;
}

describe("terms in state.json that the vendor did not sign", () => {
  test.each<[change: string, from: RegExp, to: string, term: string]>([
    ["more slots", /"slots":1,"timeoutMinutes"/, '"slots":5000,"timeoutMinutes"', "slots"],
    [
      "more slots of a feature",
      /("terms":\{"code":"view".*?)"slots":2/,
      '$1"slots":900',
      "feature view",
    ],
    ["a later serial", /"serial":1,/, '"serial":9,', "serial"],
  ])("keep the server from starting: %s", async (_change, from, to, term) => {
    const { folder, id } = await makeStoppedSite();
    expect(await tryStart(copyFolder(folder))).toBeNull();
    editState(folder, from, to);
    const refused = await tryStart(folder);
    expect([refused?.code, refused?.stdout]).toEqual([NEEDS_OPERATOR, ""]);
    const [error = "", hint = ""] = refused?.stderr.split("\n") ?? [];
    expect(error).toStartWith(`berth: error: ${join(folder, "state.json")}: license ${id} `);
    expect(error).toContain("differs from what its vendor signed");
    expect(error).toContain(term);
    const command = hint.replace("berth: hint: ", "");
    expect(Bun.spawnSync(["sh", "-c", command]).exitCode).toBe(0);
    expect(await tryStart(folder)).toBeNull();
  });

  test("are found by every command that opens or copies the folder", async () => {
    const { folder, id } = await makeStoppedSite();
    const backup = join(tempFolder(), "site.berth");
    editState(folder, '"slots":1,"timeoutMinutes"', '"slots":5000,"timeoutMinutes"');
    const data = ["--data", folder];
    for (const args of [
      ["status", ...data],
      ["license", "list", ...data],
      ["license", "request", ...data],
      ["verify", ...data],
      ["doctor", ...data],
      ["backup", backup, ...data],
    ]) {
      const { code, stdout, stderr } = await runBerth(args);
      // Some commands wrap long lines.
      const output = (stdout + stderr).replaceAll(/\s+/g, " ");
      expect([args[0], code]).toEqual([args[0], NEEDS_OPERATOR]);
      expect(output).toContain(`license ${id} `);
      expect(output).toContain("differs from what its vendor signed");
    }
  });

  test("are refused when a backup that contains them is restored", async () => {
    const { folder, id } = await makeStoppedSite();
    editState(folder, '"slots":1,"timeoutMinutes"', '"slots":5000,"timeoutMinutes"');
    for (const checkpoint of readdirSync(folder).filter((name) => /^state-\d+\.json$/.test(name))) {
      Bun.spawnSync(["rm", join(folder, checkpoint)]);
    }
    const file = join(tempFolder(), "forged.berth");
    await makeBackup(realDisk, folder, file, wallClock(), { identity: () => {} });
    const newFolder = join(tempFolder(), "fresh");
    const { code, stderr } = await runBerth(["restore", file, "--data", newFolder]);
    expect(code).toBe(1);
    expect(stderr).toContain(`license ${id} `);
    expect(realDisk.stat(newFolder)).toBeNull();
  });
});

test("terms in the journal that the vendor did not sign keep the server from starting", async () => {
  const live = join(tempFolder(), "data");
  const site = await openSiteFolder(live, wallClock);
  const id = await installNewLicense(site, terms(TERMS));
  const folder = copyFolder(live);
  await site.close();
  expect(await tryStart(copyFolder(folder))).toBeNull();
  const path = rewriteJournal(folder, (event) => ({
    ...event,
    terms: { ...event.terms, slots: 5_000 },
  }));
  const refused = await tryStart(folder);
  expect([refused?.code, refused?.stdout]).toEqual([NEEDS_OPERATOR, ""]);
  expect(refused?.stderr).toMatch(new RegExp(`error: ${path}: line \\d+: license ${id} .*slots`));
  expect(refused?.stderr).toContain("berth restore FILE");
});
