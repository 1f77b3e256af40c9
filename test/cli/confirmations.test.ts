import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { commands } from "../../src/cli/command-table.ts";
import { runWithAnswer, runBerth, runOrThrow, runJsonOrThrow } from "../support/run-berth.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

interface ConfirmedCommand {
  readonly words: readonly string[];
  /** Whether it was done. */
  readonly isDone: () => Promise<boolean>;
}

interface Desk {
  readonly products: readonly string[];
}

/** A site with one license, a desk with one license out, and every command that asks before it acts. */
async function prepareCommands(): Promise<Record<string, ConfirmedCommand>> {
  const root = tempFolder();
  const data = ["--data", join(root, "data")];
  const id = await makeLicensedSite(join(root, "data"), { product: "cad" });
  const desk = ["--dir", join(root, "desk")];
  const named = ["--name", "Acme", "--no-passphrase", "--product", "cam,cae"];
  await runOrThrow(["vendor", "init", ...desk, ...named]);
  const answer = ["--allow-weak-binding", "--out", join(root, "license.jwt")];
  const asked = ["--product", "cam", "--out", join(root, "request.jwt")];
  await runOrThrow(["license", "request", ...asked, ...data]);
  await runOrThrow(["vendor", "issue", ...desk, "--request", join(root, "request.jwt"), ...answer]);
  const vendors = () => runJsonOrThrow<{ name: string }[]>(["trust", "list", ...data]);
  const licenses = () => runJsonOrThrow<{ id: number }[]>(["license", "list", ...data]);
  const products = async () => (await runJsonOrThrow<Desk>(["vendor", "show", ...desk])).products;
  const [moved, bundle] = [join(root, "site.move"), join(root, "support.tar")];
  const backup = join(root, "desk.backup");
  const [sold] = await runJsonOrThrow<{ license_id: number }[]>(["vendor", "list", ...desk]);
  const over = join(root, "over.jwt");
  const ended = ["--renew", String(sold?.license_id), "--valid-until", "2020-01-01"];
  return {
    "trust add": {
      words: ["trust", "add", join(root, "desk", "trust.jwt"), ...data],
      isDone: async () => (await vendors()).some(({ name }) => name === "Acme"),
    },
    "license remove": {
      words: ["license", "remove", String(id), ...data],
      isDone: async () => (await licenses()).length === 0,
    },
    "move out": { words: ["move", "out", moved, ...data], isDone: async () => existsSync(moved) },
    "vendor product remove": {
      words: ["vendor", "product", "remove", "cam", ...desk],
      isDone: async () => !(await products()).includes("cam"),
    },
    "vendor backup": {
      words: ["vendor", "backup", backup, ...desk],
      isDone: async () => existsSync(backup),
    },
    "vendor issue": {
      words: ["vendor", "issue", ...desk, ...ended, "--out", over],
      isDone: async () => existsSync(over),
    },
    "support-bundle": {
      words: ["support-bundle", bundle, ...data],
      isDone: async () => existsSync(bundle),
    },
  };
}

const NAMES = [
  "trust add",
  "license remove",
  "move out",
  "support-bundle",
  "vendor product remove",
  "vendor backup",
  "vendor issue",
];

/** Asked in test/binary/audit-damage.test.ts, where there is something to repair and to seal. */
const ELSEWHERE = ["audit repair", "audit seal"];

test("every command that takes --yes is asked on a terminal by a test", () => {
  const asking = commands.filter(({ options }) => options.some(({ name }) => name === "yes"));
  expect(asking.map(({ name }) => name).toSorted()).toEqual([...NAMES, ...ELSEWHERE].toSorted());
});

async function questionOf(name: string): Promise<ConfirmedCommand> {
  const question = (await prepareCommands())[name];
  if (question === undefined) throw new Error(`${name} asks nothing`);
  return question;
}

describe("without a terminal", () => {
  test.each(NAMES)("berth %s does nothing unless --yes is given", async (name) => {
    const { words, isDone } = await questionOf(name);
    // Whatever stands on standard input is no person's answer.
    for (const stdin of ["", "yes\n", "no\n"]) {
      const { code, stderr } = await runBerth(words, { stdin });
      expect([code, stderr]).toEqual([2, expect.stringMatching(/^berth: hint: .*--yes/m)]);
      expect(await isDone()).toBe(false);
    }
    await runOrThrow([...words, "--yes"]);
    expect(await isDone()).toBe(true);
  });
});

describe.skipIf(process.platform === "win32")("on a terminal", () => {
  test.each(NAMES)("berth %s is done after a yes, and not after a no", async (name) => {
    const { words, isDone } = await questionOf(name);
    const refused = await runWithAnswer(words, "n");
    expect([refused.code, refused.text]).toEqual([
      1,
      expect.stringMatching(/\[y\/N\] n\s+berth: error: nothing was changed/),
    ]);
    expect(await isDone()).toBe(false);
    const agreed = await runWithAnswer(words, "y");
    expect([agreed.code, agreed.text]).toEqual([0, expect.stringContaining("[y/N]")]);
    expect(await isDone()).toBe(true);
  });

  test("berth license remove is not done when the terminal is closed instead of an answer", async () => {
    const { words, isDone } = await questionOf("license remove");
    const { code } = await runWithAnswer(words, null);
    expect(code).not.toBe(0);
    expect(await isDone()).toBe(false);
  });
});
