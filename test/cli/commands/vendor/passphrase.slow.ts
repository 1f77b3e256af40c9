import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  runBerth,
  runOnTerminalWithAnswers,
  runOrThrow,
  runWithAnswers,
} from "../../../support/run-berth.ts";
import { bothFolders } from "../../../support/vendor-commands.ts";
import { tempFolder } from "../../../support/temp-folder.ts";

const GOOD = "correct horse battery";
const OTHER = "staple the battery";
const ROOT = "in the safe";

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

/** Its root has no passphrase. */
async function makeEncryptedDesk(): Promise<DeskPaths> {
  const paths = await makePlainDesk();
  const flags = ["--new-passphrase-file", paths.phrase(GOOD)];
  await runOrThrow(["vendor", "passphrase", ...paths.dir, ...flags]);
  return paths;
}

async function makePlainDesk(): Promise<DeskPaths> {
  const paths = newDeskPaths();
  await runOrThrow(init(paths, "--no-passphrase"));
  return paths;
}

/** The kinds of the desk's key files. */
const keyFiles = ({ desk }: DeskPaths): string[] =>
  readdirSync(desk).flatMap((file) => /^\w{16}\.(key\.jw[ek])$/.exec(file)?.[1] ?? []);

const rootFiles = ({ desk }: DeskPaths): string[] =>
  readdirSync(`${desk}-root`).filter((file) => file.startsWith("root"));

/** For desks whose root has no passphrase. */
const both = ({ desk }: DeskPaths): string[] => bothFolders(desk);

const policy = ({ dir }: DeskPaths): string[] => [
  "vendor",
  "policy",
  "--policy-id",
  "p",
  "--product",
  "CAD",
  "--valid-until",
  "never",
  ...dir,
];

/** Whether the key signs with this passphrase. */
async function canSignWith(paths: DeskPaths, passphrase: string): Promise<boolean> {
  const result = await runBerth([...policy(paths), "--passphrase-file", paths.phrase(passphrase)]);
  return result.code === 0;
}

describe.skipIf(process.platform === "win32")("on a terminal", () => {
  test("vendor init asks twice for a passphrase of the root, and of the desk's key", async () => {
    const paths = newDeskPaths();
    const shown = await runWithAnswers(init(paths), [
      ["new passphrase of the root: ", ROOT],
      ["new passphrase of the root again: ", ROOT],
      ["new passphrase of the desk's key: ", GOOD],
      ["new passphrase of the desk's key again: ", GOOD],
    ]);
    expect([shown.code, shown.text]).toEqual([0, expect.stringContaining("fingerprint")]);
    for (const phrase of [GOOD, ROOT]) expect(shown.text).not.toContain(phrase);
    expect([keyFiles(paths), rootFiles(paths)]).toEqual([["key.jwe"], ["root.jwe"]]);
    expect([await canSignWith(paths, GOOD), await canSignWith(paths, ROOT)]).toEqual([true, false]);
    const name = ["vendor", "name", "Acme Ltd", "--root", `${paths.desk}-root`];
    const asked = await runWithAnswers(name, [["passphrase of the root: ", ROOT]]);
    expect(asked.code).toBe(0);
    const wrong = await runBerth([...name, "--root-passphrase-file", paths.phrase(GOOD)]);
    expect([wrong.code, wrong.stderr]).toEqual([
      1,
      expect.stringContaining("the root and the desk's key have different ones"),
    ]);
  });

  test.each([
    ["the two entries differ", runWithAnswers, OTHER, 1],
    ["the second entry is cancelled with Ctrl-C", runOnTerminalWithAnswers, "\u0003", 130],
  ])("vendor init creates neither root nor desk when %s", async (_what, run, second, code) => {
    const paths = newDeskPaths();
    const shown = await run(init(paths), [
      ["new passphrase of the root: ", ROOT],
      ["new passphrase of the root again: ", second],
    ]);
    expect([shown.code, existsSync(paths.desk), existsSync(`${paths.desk}-root`)]).toEqual([
      code,
      false,
      false,
    ]);
  });

  test("vendor init --no-passphrase asks nothing and stores the key unencrypted", async () => {
    const paths = newDeskPaths();
    const shown = await runWithAnswers(init(paths, "--no-passphrase"), []);
    expect([shown.code, keyFiles(paths), rootFiles(paths)]).toEqual([0, ["key.jwk"], ["root.jwk"]]);
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

  test("vendor key new asks twice for the passphrase of the new key", async () => {
    const paths = await makeEncryptedDesk();
    const shown = await runWithAnswers(
      ["vendor", "key", "new", ...both(paths)],
      [
        ["new passphrase: ", OTHER],
        ["new passphrase again: ", OTHER],
      ],
    );
    expect([shown.code, keyFiles(paths)]).toEqual([0, ["key.jwe", "key.jwe"]]);
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

  test("vendor root passphrase asks for the old passphrase once and for the new one twice", async () => {
    const paths = newDeskPaths();
    const passphrases = ["--root-passphrase-file", paths.phrase(ROOT)];
    await runOrThrow(init(paths, "--no-passphrase", ...passphrases));
    const root = ["--root", `${paths.desk}-root`];
    const change = ["vendor", "root", "passphrase", ...root];
    const wrong = await runWithAnswers(change, [["passphrase of the root: ", OTHER]]);
    expect([wrong.code, wrong.text.includes("new passphrase")]).toEqual([1, false]);
    const shown = await runWithAnswers(change, [
      ["passphrase of the root: ", ROOT],
      ["new passphrase of the root: ", OTHER],
      ["new passphrase of the root again: ", OTHER],
    ]);
    expect([shown.code, rootFiles(paths)]).toEqual([0, ["root.jwe"]]);
    const name = ["vendor", "name", "Acme Ltd", ...root, "--root-passphrase-file"];
    expect((await runBerth([...name, paths.phrase(ROOT)])).code).toBe(1);
    expect((await runBerth([...name, paths.phrase(OTHER)])).code).toBe(0);
    const old = ["--root-passphrase-file", paths.phrase(OTHER)];
    await runOrThrow([...change, ...old, "--no-passphrase"]);
    expect(rootFiles(paths)).toEqual(["root.jwk"]);
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

  test("vendor init refuses one passphrase for the root and the desk's key, and makes nothing", async () => {
    const paths = newDeskPaths();
    const phrase = paths.phrase(GOOD);
    const flags = ["--passphrase-file", phrase, "--root-passphrase-file", phrase];
    const { code, stderr } = await runBerth(init(paths, ...flags));
    expect([code, stderr]).toEqual([2, expect.stringContaining("different passphrases")]);
    expect([existsSync(paths.desk), existsSync(`${paths.desk}-root`)]).toEqual([false, false]);
  });

  test("vendor init can store the desk's key without a passphrase and the root with one", async () => {
    const paths = newDeskPaths();
    const flags = ["--no-passphrase", "--root-passphrase-file", paths.phrase(ROOT)];
    await runOrThrow(init(paths, ...flags));
    expect([keyFiles(paths), rootFiles(paths)]).toEqual([["key.jwk"], ["root.jwe"]]);
    expect((await runBerth(policy(paths))).code).toBe(0);
  });

  test("vendor key new exits with 2 unless a passphrase or --no-passphrase is given", async () => {
    const paths = await makePlainDesk();
    const result = await runBerth(["vendor", "key", "new", ...both(paths)]);
    expect([result.code, keyFiles(paths)]).toEqual([2, ["key.jwk"]]);
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
    await runOrThrow(["vendor", "key", "new", ...both(paths), "--no-passphrase"]);
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
