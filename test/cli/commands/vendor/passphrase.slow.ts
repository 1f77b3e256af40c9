import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  runBerth,
  runOnTerminalWithAnswers,
  runOrThrow,
  runWithAnswers,
} from "../../../support/run-berth.ts";
import { tempFolder } from "../../../support/temp-folder.ts";

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

async function makeEncryptedDesk(): Promise<DeskPaths> {
  const paths = newDeskPaths();
  await runOrThrow(init(paths, "--passphrase-file", paths.phrase(GOOD)));
  return paths;
}

async function makePlainDesk(): Promise<DeskPaths> {
  const paths = newDeskPaths();
  await runOrThrow(init(paths, "--no-passphrase"));
  return paths;
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
async function canSignWith(paths: DeskPaths, passphrase: string): Promise<boolean> {
  const result = await runBerth([...policy(paths), "--passphrase-file", paths.phrase(passphrase)]);
  return result.code === 0;
}

describe.skipIf(process.platform === "win32")("on a terminal", () => {
  test("vendor init asks for a passphrase twice and stores the key under it", async () => {
    const paths = newDeskPaths();
    const shown = await runWithAnswers(init(paths), [
      ["new passphrase: ", GOOD],
      ["new passphrase again: ", GOOD],
    ]);
    expect([shown.code, shown.text]).toEqual([0, expect.stringContaining("fingerprint")]);
    expect(shown.text).not.toContain(GOOD);
    expect(keyFiles(paths)).toEqual(["vendor.jwe"]);
    expect(await canSignWith(paths, GOOD)).toBe(true);
  });

  test.each([
    ["the two entries differ", runWithAnswers, OTHER, 1],
    ["the second entry is cancelled with Ctrl-C", runOnTerminalWithAnswers, "\u0003", 130],
  ])("vendor init creates no desk when %s", async (_what, run, second, code) => {
    const paths = newDeskPaths();
    const shown = await run(init(paths), [
      ["new passphrase: ", GOOD],
      ["new passphrase again: ", second],
    ]);
    expect([shown.code, existsSync(paths.desk)]).toEqual([code, false]);
  });

  test("vendor init --no-passphrase asks nothing and stores the key unencrypted", async () => {
    const paths = newDeskPaths();
    const shown = await runWithAnswers(init(paths, "--no-passphrase"), []);
    expect([shown.code, keyFiles(paths)]).toEqual([0, ["vendor.jwk"]]);
  });

  test("a command that signs asks once for the passphrase of an encrypted key", async () => {
    const paths = await makeEncryptedDesk();
    const right = await runWithAnswers(policy(paths), [["passphrase: ", GOOD]]);
    expect([right.code, right.text.split("passphrase: ").length]).toEqual([0, 2]);
    const wrong = await runWithAnswers(policy(paths), [["passphrase: ", OTHER]]);
    expect([wrong.code, wrong.text]).toEqual([1, expect.stringContaining("is wrong")]);
  });

  test("a command that only reads the desk asks for no passphrase", async () => {
    const paths = await makeEncryptedDesk();
    for (const words of [
      ["vendor", "list", ...paths.dir],
      ["vendor", "inspect", join(paths.desk, "trust.jwt"), ...paths.dir],
    ]) {
      const shown = await runWithAnswers(words, []);
      expect([shown.code, shown.text.includes("passphrase")]).toEqual([0, false]);
    }
  });

  test("vendor successor asks for the old passphrase once and for the new one twice", async () => {
    const paths = await makeEncryptedDesk();
    const shown = await runWithAnswers(
      ["vendor", "successor", ...paths.dir],
      [
        ["passphrase: ", GOOD],
        ["new passphrase: ", OTHER],
        ["new passphrase again: ", OTHER],
      ],
    );
    expect(shown.code).toBe(0);
    expect(keyFiles(paths)).toHaveLength(2);
    expect([await canSignWith(paths, OTHER), await canSignWith(paths, GOOD)]).toEqual([
      true,
      false,
    ]);
  });

  test("vendor passphrase asks for the old passphrase once and for the new one twice", async () => {
    const paths = await makeEncryptedDesk();
    const shown = await runWithAnswers(
      ["vendor", "passphrase", ...paths.dir],
      [
        ["passphrase: ", GOOD],
        ["new passphrase: ", OTHER],
        ["new passphrase again: ", OTHER],
      ],
    );
    expect(shown.code).toBe(0);
    expect([await canSignWith(paths, OTHER), await canSignWith(paths, GOOD)]).toEqual([
      true,
      false,
    ]);
  });

  test("vendor passphrase changes nothing after a wrong old passphrase", async () => {
    const paths = await makeEncryptedDesk();
    const words = ["vendor", "passphrase", ...paths.dir];
    const shown = await runWithAnswers(words, [["passphrase: ", OTHER]]);
    expect([shown.code, shown.text]).toEqual([1, expect.stringContaining("is wrong")]);
    expect(shown.text).not.toContain("new passphrase");
    expect(await canSignWith(paths, GOOD)).toBe(true);
  });
});

describe("without a terminal", () => {
  test("vendor init exits with 2 unless a passphrase or --no-passphrase is given", async () => {
    const paths = newDeskPaths();
    const result = await runBerth(init(paths));
    expect([result.code, result.stdout, existsSync(paths.desk)]).toEqual([2, "", false]);
    expect(result.stderr).toContain("--passphrase-file FILE, or --no-passphrase");
    const both = init(paths, "--no-passphrase", "--passphrase-file", paths.phrase(GOOD));
    expect([(await runBerth(both)).code, existsSync(paths.desk)]).toEqual([2, false]);
  });

  test("vendor successor exits with 2 unless a passphrase or --no-passphrase is given", async () => {
    const paths = await makePlainDesk();
    const result = await runBerth(["vendor", "successor", ...paths.dir]);
    expect([result.code, keyFiles(paths)]).toEqual([2, ["vendor.jwk"]]);
    expect(result.stderr).toContain("--no-passphrase");
  });

  test("a command that signs names --passphrase-file when the key is encrypted", async () => {
    const result = await runBerth(policy(await makeEncryptedDesk()));
    expect([result.code, result.stdout]).toEqual([1, ""]);
    expect(result.stderr).toContain("use --passphrase-file FILE");
  });

  test("a passphrase in an environment variable is ignored", async () => {
    const paths = await makeEncryptedDesk();
    const result = await runBerth(policy(paths), { env: { BERTH_PASSPHRASE: GOOD } });
    expect(result.code).not.toBe(0);
    expect(result.stderr).not.toContain(GOOD);
    const initResult = await runBerth(init(newDeskPaths()), { env: { BERTH_PASSPHRASE: GOOD } });
    expect(initResult.code).toBe(2);
  });

  test("vendor passphrase sets, changes and removes the passphrase of the current and earlier keys", async () => {
    const paths = await makePlainDesk();
    await runOrThrow(["vendor", "successor", ...paths.dir, "--no-passphrase"]);
    expect(keyFiles(paths).filter((file) => file.endsWith(".jwk"))).toHaveLength(2);
    const change = ["vendor", "passphrase", ...paths.dir];
    const secret = /"d":/;
    await runOrThrow([...change, "--new-passphrase-file", paths.phrase(GOOD)]);
    expect(keyFiles(paths).filter((file) => file.endsWith(".jwe"))).toHaveLength(2);
    for (const file of readdirSync(paths.desk)) {
      expect(readFileSync(join(paths.desk, file), "utf8")).not.toMatch(secret);
    }
    expect(await canSignWith(paths, GOOD)).toBe(true);
    const from = ["--passphrase-file", paths.phrase(GOOD)];
    await runOrThrow([...change, ...from, "--new-passphrase-file", paths.phrase(OTHER)]);
    expect([await canSignWith(paths, OTHER), await canSignWith(paths, GOOD)]).toEqual([
      true,
      false,
    ]);
    await runOrThrow([...change, "--passphrase-file", paths.phrase(OTHER), "--no-passphrase"]);
    expect(keyFiles(paths).filter((file) => file.endsWith(".jwk"))).toHaveLength(2);
    expect((await runBerth(policy(paths))).code).toBe(0);
  });
});
