import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runWithAnswers, runBerth, runOrThrow } from "../support/run-berth.ts";
import { tempFolder } from "../support/temp-folder.ts";

const GOOD = "correct horse battery";
const OTHER = "staple the battery";

interface DeskPaths {
  readonly desk: string;
  readonly dir: readonly string[];
  readonly phrase: (text: string) => string;
}

function newDeskPaths(): DeskPaths {
  const root = tempFolder();
  const desk = join(root, "desk");
  const phrase = (text: string): string => {
    const path = join(root, text.replaceAll(" ", "-"));
    writeFileSync(path, `${text}\n`);
    return path;
  };
  return { desk, dir: ["--dir", desk], phrase };
}

const init = ({ dir }: DeskPaths, ...flags: string[]): string[] => [
  "vendor",
  "init",
  "--name",
  "Acme",
  "--product",
  "CAD",
  ...dir,
  ...flags,
];

async function lockedDesk(): Promise<DeskPaths> {
  const at = newDeskPaths();
  await runOrThrow(init(at, "--passphrase-file", at.phrase(GOOD)));
  return at;
}

async function plainDesk(): Promise<DeskPaths> {
  const at = newDeskPaths();
  await runOrThrow(init(at, "--no-passphrase"));
  return at;
}

const keyFiles = ({ desk }: DeskPaths): string[] =>
  readdirSync(desk).filter((file) => /\.jw[ek]$/.test(file));

const policy = ({ dir }: DeskPaths): string[] => [
  "vendor",
  "policy",
  "--policy-id",
  "p",
  "--product",
  "CAD",
  ...dir,
];

/** Whether the key signs with this passphrase. */
async function opensWith(at: DeskPaths, passphrase: string): Promise<boolean> {
  const said = await runBerth([...policy(at), "--passphrase-file", at.phrase(passphrase)]);
  return said.code === 0;
}

describe.skipIf(process.platform === "win32")("on a terminal", () => {
  test("vendor init asks for a passphrase twice and stores the key under it", async () => {
    const at = newDeskPaths();
    const shown = await runWithAnswers(init(at), [
      ["new passphrase: ", GOOD],
      ["new passphrase again: ", GOOD],
    ]);
    expect([shown.code, shown.text]).toEqual([0, expect.stringContaining("fingerprint")]);
    expect(shown.text).not.toContain(GOOD);
    expect(keyFiles(at)).toEqual(["vendor.jwe"]);
    expect(await opensWith(at, GOOD)).toBe(true);
  });

  test.each([
    ["the two differ", OTHER, 1],
    ["the second is given up with Ctrl-C", "\u0003", 130],
  ])("vendor init makes no desk when %s", async (_what, second, code) => {
    const at = newDeskPaths();
    const shown = await runWithAnswers(init(at), [
      ["new passphrase: ", GOOD],
      ["new passphrase again: ", second],
    ]);
    expect([shown.code, existsSync(at.desk)]).toEqual([code, false]);
  });

  test("vendor init --no-passphrase asks nothing and stores the key in the clear", async () => {
    const at = newDeskPaths();
    const shown = await runWithAnswers(init(at, "--no-passphrase"), []);
    expect([shown.code, keyFiles(at)]).toEqual([0, ["vendor.jwk"]]);
  });

  test("a command that signs asks once for the passphrase of a locked key", async () => {
    const at = await lockedDesk();
    const right = await runWithAnswers(policy(at), [["passphrase: ", GOOD]]);
    expect([right.code, right.text.split("passphrase: ").length]).toEqual([0, 2]);
    const wrong = await runWithAnswers(policy(at), [["passphrase: ", OTHER]]);
    expect([wrong.code, wrong.text]).toEqual([1, expect.stringContaining("is wrong")]);
  });

  test("a command that only reads the desk asks for no passphrase", async () => {
    const at = await lockedDesk();
    for (const words of [
      ["vendor", "list", ...at.dir],
      ["vendor", "inspect", join(at.desk, "trust.jwt"), ...at.dir],
    ]) {
      const shown = await runWithAnswers(words, []);
      expect([shown.code, shown.text.includes("passphrase")]).toEqual([0, false]);
    }
  });

  test("vendor successor asks for the old passphrase once and for the new one twice", async () => {
    const at = await lockedDesk();
    const shown = await runWithAnswers(
      ["vendor", "successor", ...at.dir],
      [
        ["passphrase: ", GOOD],
        ["new passphrase: ", OTHER],
        ["new passphrase again: ", OTHER],
      ],
    );
    expect(shown.code).toBe(0);
    expect(keyFiles(at)).toHaveLength(2);
    expect([await opensWith(at, OTHER), await opensWith(at, GOOD)]).toEqual([true, false]);
  });

  test("vendor passphrase asks for the old one and twice for the new one", async () => {
    const at = await lockedDesk();
    const shown = await runWithAnswers(
      ["vendor", "passphrase", ...at.dir],
      [
        ["passphrase: ", GOOD],
        ["new passphrase: ", OTHER],
        ["new passphrase again: ", OTHER],
      ],
    );
    expect(shown.code).toBe(0);
    expect([await opensWith(at, OTHER), await opensWith(at, GOOD)]).toEqual([true, false]);
  });

  test("vendor passphrase changes nothing after a wrong old one", async () => {
    const at = await lockedDesk();
    const words = ["vendor", "passphrase", ...at.dir];
    const shown = await runWithAnswers(words, [["passphrase: ", OTHER]]);
    expect([shown.code, shown.text]).toEqual([1, expect.stringContaining("is wrong")]);
    expect(shown.text).not.toContain("new passphrase");
    expect(await opensWith(at, GOOD)).toBe(true);
  });
});

describe("without a terminal", () => {
  test("vendor init is misuse unless a passphrase or --no-passphrase is given", async () => {
    const at = newDeskPaths();
    const said = await runBerth(init(at));
    expect([said.code, said.stdout, existsSync(at.desk)]).toEqual([2, "", false]);
    expect(said.stderr).toContain("--passphrase-file FILE, or --no-passphrase");
    const both = init(at, "--no-passphrase", "--passphrase-file", at.phrase(GOOD));
    expect([(await runBerth(both)).code, existsSync(at.desk)]).toEqual([2, false]);
  });

  test("vendor successor is misuse unless a passphrase or --no-passphrase is given", async () => {
    const at = await plainDesk();
    const said = await runBerth(["vendor", "successor", ...at.dir]);
    expect([said.code, keyFiles(at)]).toEqual([2, ["vendor.jwk"]]);
    expect(said.stderr).toContain("--no-passphrase");
  });

  test("a command that signs names --passphrase-file when the key is locked", async () => {
    const said = await runBerth(policy(await lockedDesk()));
    expect([said.code, said.stdout]).toEqual([1, ""]);
    expect(said.stderr).toContain("use --passphrase-file FILE");
  });

  test("a passphrase in an environment variable is not taken", async () => {
    const at = await lockedDesk();
    const said = await runBerth(policy(at), { env: { BERTH_PASSPHRASE: GOOD } });
    expect(said.code).not.toBe(0);
    expect(said.stderr).not.toContain(GOOD);
    const made = await runBerth(init(newDeskPaths()), { env: { BERTH_PASSPHRASE: GOOD } });
    expect(made.code).toBe(2);
  });

  test("vendor passphrase sets, changes and removes the passphrase, the earlier keys' too", async () => {
    const at = await plainDesk();
    await runOrThrow(["vendor", "successor", ...at.dir, "--no-passphrase"]);
    expect(keyFiles(at).filter((file) => file.endsWith(".jwk"))).toHaveLength(2);
    const change = ["vendor", "passphrase", ...at.dir];
    const secret = /"d":/;
    await runOrThrow([...change, "--new-passphrase-file", at.phrase(GOOD)]);
    expect(keyFiles(at).filter((file) => file.endsWith(".jwe"))).toHaveLength(2);
    for (const file of readdirSync(at.desk)) {
      expect(readFileSync(join(at.desk, file), "utf8")).not.toMatch(secret);
    }
    expect(await opensWith(at, GOOD)).toBe(true);
    const from = ["--passphrase-file", at.phrase(GOOD)];
    await runOrThrow([...change, ...from, "--new-passphrase-file", at.phrase(OTHER)]);
    expect([await opensWith(at, OTHER), await opensWith(at, GOOD)]).toEqual([true, false]);
    await runOrThrow([...change, "--passphrase-file", at.phrase(OTHER), "--no-passphrase"]);
    expect(keyFiles(at).filter((file) => file.endsWith(".jwk"))).toHaveLength(2);
    expect((await runBerth(policy(at))).code).toBe(0);
  });
});
