import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runBerth, runOrThrow, runJsonOrThrow } from "../../../support/run-berth.ts";
import { makeLicensedSite } from "../../../support/site-folder.ts";
import { contentsOf, tempFolder } from "../../../support/temp-folder.ts";

async function makeSite(): Promise<string> {
  const folder = join(tempFolder(), "data");
  await makeLicensedSite(folder, { product: "cad" });
  return folder;
}

const runRefused = async (words: readonly string[], options: { cwd?: string } = {}) => {
  const { code, stdout, stderr } = await runBerth(words, options);
  expect(stdout).toBe("");
  const [error = "", hint = "", ...rest] = stderr.split("\n");
  expect(rest.length).toBeLessThan(2);
  return {
    code,
    error: error.replace("berth: error: ", ""),
    hint: hint.replace("berth: hint: ", ""),
  };
};

describe("help of verify, backup and restore", () => {
  test.each([
    ["verify", "[FILE]", "berth verify /media/usb/site.berth"],
    ["backup", "FILE", "berth backup /media/usb/site.berth --data /srv/berth"],
    ["restore", "FILE", "berth restore /media/usb/site.berth --data /srv/berth"],
  ])("berth %s --help shows the arguments and an example", async (name, file, example) => {
    const text = await runOrThrow([name, "--help"]);
    expect(text).toStartWith(`berth ${name}: `);
    expect(text).toContain(`\n\nusage: berth ${name} ${file} [FLAGS]\n\n`);
    expect(text).toContain(`\n  ${example}\n`);
    expect(await runOrThrow(["help", name])).toBe(text);
  });

  test("says that the server must be stopped for a restore but not for a backup", async () => {
    expect(await runOrThrow(["restore", "--help"])).toContain("the server must be stopped");
    expect(await runOrThrow(["backup", "--help"])).toContain("the server may be running");
  });
});

describe("misuse of verify, backup and restore", () => {
  test.each([
    ["lst", "berth backup list"],
    ["no", "berth backup now"],
    ["verify", "berth verify FILE"],
    ["restore", "berth restore FILE"],
  ])("berth backup %s writes no file of that name and suggests %s", async (word, command) => {
    const folder = await makeSite();
    const cwd = tempFolder();
    expect(await runRefused(["backup", word, "--data", folder], { cwd })).toEqual({
      code: 2,
      error: `${word} is not the name of a backup command`,
      hint: `did you mean ${command}? To write a file of this name: berth backup ./${word}`,
    });
    expect(readdirSync(cwd)).toEqual([]);
    await runOrThrow(["backup", `./${word}`, "--data", folder], { cwd });
    expect(readdirSync(cwd)).toEqual([word]);
  });

  test.each([
    ["backup", "a new file to write"],
    ["restore", "the backup"],
  ])("berth %s exits with 2 when FILE is missing", async (name, what) => {
    const folder = await makeSite();
    const before = contentsOf(folder);
    for (const words of [[name], [name, ""]]) {
      expect(await runRefused([...words, "--data", folder])).toMatchObject({
        code: 2,
        error: `FILE is required: ${what}`,
      });
    }
    expect(contentsOf(folder)).toEqual(before);
  });

  test.each(["verify", "backup", "restore"])(
    "berth %s exits with 2 for a second FILE",
    async (name) => {
      const words = [name, "a", "b", "--data", join(tempFolder(), "data")];
      expect(await runRefused(words)).toEqual({
        code: 2,
        error: "unexpected argument: b",
        hint: `berth ${name} --help shows its arguments and flags`,
      });
    },
  );

  test.each(["site.berth", "below/site.berth", "../data/site.berth"])(
    "berth backup exits with 2 for a FILE inside the data folder: %s",
    async (name) => {
      const folder = await makeSite();
      const before = contentsOf(folder);
      expect(await runRefused(["backup", name, "--data", folder], { cwd: folder })).toEqual({
        code: 2,
        error: "a backup must not be written inside the data folder",
        hint: "choose another folder",
      });
      expect(contentsOf(folder)).toEqual(before);
    },
  );

  test("berth backup exits with 2 for --accept-loss, a flag of restore", async () => {
    expect((await runRefused(["backup", "x", "--accept-loss"])).code).toBe(2);
  });
});

describe("a folder given as a file, or a file as a folder", () => {
  test("berth verify FOLDER checks it as a data folder", async () => {
    const folder = await makeSite();
    const verified = await runJsonOrThrow<{ path: string }>(["verify", folder]);
    expect(verified).toEqual(await runJsonOrThrow(["verify", "--data", folder]));
    expect(verified.path).toBe(folder);
  });

  test("berth backup and berth restore refuse a folder as FILE", async () => {
    const [folder, other] = [await makeSite(), tempFolder()];
    expect(await runRefused(["backup", other, "--data", folder])).toEqual({
      code: 1,
      error: `${other} is a folder`,
      hint: `specify a file in it: ${join(other, "site.berth")}`,
    });
    expect(await runRefused(["restore", other, "--data", folder])).toEqual({
      code: 1,
      error: `${other} is a folder`,
      hint: "specify a file: the backup",
    });
    expect(readdirSync(other)).toEqual([]);
  });

  test.each(["status", "serve", "doctor", "verify"])(
    "berth %s refuses a file as --data",
    async (name) => {
      const file = join(tempFolder(), "file");
      writeFileSync(file, "");
      const listen = name === "serve" ? ["--listen", "127.0.0.1:0"] : [];
      const { code, error } = await runRefused([name, "--data", file, ...listen]);
      expect(code).toBe(1);
      expect(error).toMatch(new RegExp(`^${file} is not a folder \\(E[A-Z]+\\)$`));
    },
  );
});

test("backup, verify and restore take a relative FILE as relative to the working folder", async () => {
  const [folder, cwd] = [await makeSite(), tempFolder()];
  const words = ["--data", folder];
  const backup = await runJsonOrThrow<{ path: string }>(["backup", "site.berth", ...words], {
    cwd,
  });
  expect(backup.path).toBe(join(cwd, "site.berth"));
  expect(readdirSync(cwd)).toEqual(["site.berth"]);
  const verified = await runJsonOrThrow<{ path: string }>(["verify", "site.berth"], { cwd });
  expect(verified.path).toBe(backup.path);
  await runOrThrow(["restore", "site.berth", "--data", "new"], { cwd });
  expect(existsSync(join(cwd, "new", "state.json"))).toBe(true);
});

describe("missing folders and unusable backups", () => {
  test("verify and backup refuse a missing data folder and do not create it", async () => {
    const folder = join(tempFolder(), "data");
    const out = join(tempFolder(), "site.berth");
    for (const words of [["verify"], ["backup", out]]) {
      expect(await runRefused([...words, "--data", folder])).toEqual({
        code: 78,
        error: `${folder} is not a data folder`,
        hint: "specify another folder with --data DIR",
      });
    }
    expect([existsSync(folder), existsSync(out)]).toEqual([false, false]);
  });

  test("verify and restore refuse a missing backup and create no folder", async () => {
    const [file, folder] = [join(tempFolder(), "site.berth"), join(tempFolder(), "data")];
    for (const words of [
      ["verify", file],
      ["restore", file, "--data", folder],
    ]) {
      const { code, error } = await runRefused(words);
      expect([code, error]).toEqual([1, `${file} does not exist`]);
    }
    expect(existsSync(folder)).toBe(false);
  });

  test.each([
    ["no content", "", "is empty", "copy it again from the original"],
    ["zeros", "\u0000".repeat(2_048), "is not a Berth backup", "use another backup file"],
    ["text", "berth ".repeat(500), "is not a Berth backup", "use another backup file"],
  ])("verify and restore refuse a file with %s and create no folder", async (...row) => {
    const [, text, problem, hint] = row;
    const [file, folder] = [join(tempFolder(), "site.berth"), join(tempFolder(), "data")];
    writeFileSync(file, text);
    for (const words of [
      ["verify", file],
      ["restore", file, "--data", folder],
    ]) {
      expect(await runRefused(words)).toEqual({ code: 1, error: `${file} ${problem}`, hint });
    }
    expect(existsSync(folder)).toBe(false);
  });

  test("berth backup fails with a hint when the folder of FILE does not exist", async () => {
    const folder = await makeSite();
    expect(await runRefused(["backup", "/nowhere/site.berth", "--data", folder])).toEqual({
      code: 1,
      error: "/nowhere does not exist (ENOENT)",
      hint: "create it, or choose another path",
    });
  });
});

describe("an audit_keep_months that is not a number of months", () => {
  const WRONG = ["-1", "x", "1.5", "12345", " 3", "0x10", "3 months"];

  const expectMisuse = async (
    words: readonly string[],
    env: Record<string, string>,
    expected: string,
  ): Promise<void> => {
    const cwd = tempFolder();
    const listen = ["--data", "data", "--listen", "127.0.0.1:0"];
    const { code, stdout, stderr } = await runBerth(["serve", ...listen, ...words], { cwd, env });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toStartWith(`berth: error: ${expected}`);
    expect(stderr).toContain("\nberth: hint: ");
    expect(existsSync(join(cwd, "data"))).toBe(false);
  };

  test.each(WRONG)("is refused as a flag and as an environment variable: %p", async (value) => {
    const must = "must be a number of months";
    await expectMisuse([`--audit-keep-months=${value}`], {}, `--audit-keep-months ${must}`);
    const env = { BERTH_AUDIT_KEEP_MONTHS: value };
    await expectMisuse([], env, `BERTH_AUDIT_KEEP_MONTHS: audit-keep-months ${must}`);
  });

  test.each(["-1", "1.5", "12345", '"x"', "true", "[3]"])(
    "is refused in the settings file: %s",
    async (value) => {
      const path = join(tempFolder(), "berth.toml");
      writeFileSync(path, `audit_keep_months = ${value}\n`);
      await expectMisuse(
        ["--config", path],
        {},
        `${path}:1: audit_keep_months must be a number of months`,
      );
    },
  );
});
