// Commands on the folder of a pair while its server is stopped.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseJsonRefusal } from "../../../../src/cli/frame/json-refusal.ts";
import { makePairFolder } from "../../../support/pair-folder.ts";
import { runBerth, type CommandResult } from "../../../support/run-berth.ts";

const root = mkdtempSync(join(tmpdir(), "berth-test-"));
const folder = join(root, "data");
afterAll(() => rmSync(root, { recursive: true, force: true }));

beforeAll(async () => {
  await makePairFolder(folder, { product: "cad", slots: 3 });
  writeFileSync(join(root, "rules.toml"), '[groups.staff]\nusers = ["ada"]\n');
  writeFileSync(join(root, "keys.txt"), "apiKey=a\nsharedKey=b\n");
});

const run = (command: string): Promise<CommandResult> =>
  runBerth([...command.split(" "), "--data", folder, "--json"], {
    cwd: root,
    stdin: "correct horse battery\n",
  });

/** What the log of the pair and the other host depend on. */
function describeFolder(): Record<string, string> {
  const isKept = (name: string): boolean => /^(?:journal-|access|credentials|settings)/.test(name);
  const names = readdirSync(folder).filter(isKept).toSorted();
  return Object.fromEntries(
    names.map((name) => [
      name,
      createHash("sha256")
        .update(readFileSync(join(folder, name)))
        .digest("hex"),
    ]),
  );
}

describe("a command on the folder of a pair whose server is stopped", () => {
  test.each([
    "status",
    "slots",
    "queue",
    "audit",
    "usage",
    "report",
    "clock",
    "license list",
    "license requests",
    "trust list",
    "rules show",
    "rules check rules.toml",
    "rules explain --user ada --product cad",
    "usage statements",
    "admin user list",
    "admin session list",
    "config",
    "verify",
    "backup site.berth",
    "pair status",
  ])("reads it with berth %s", async (command) => {
    const before = describeFolder();
    const { code, stdout, stderr } = await run(command);
    expect([code, stderr, parseJsonRefusal(stdout)]).toEqual([0, "", null]);
    expect(describeFolder()).toEqual(before);
  });

  test.each([
    "admin token",
    "admin password",
    "admin user add ada",
    "keys set keys.txt",
    "release --user ada --product cad",
    "license request --product cad",
    "rules apply rules.toml",
    "rules clear",
    "clock accept",
    "usage statement",
  ])("changes nothing with berth %s, and names the host that led last", async (command) => {
    const before = describeFolder();
    const { code, stdout } = await run(command);
    const refusal = parseJsonRefusal(stdout);
    expect([code, refusal?.code, refusal?.hint]).toEqual([
      1,
      "pair_read_only",
      expect.stringContaining("alpha"),
    ]);
    expect(describeFolder()).toEqual(before);
  });
});
