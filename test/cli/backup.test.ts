import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runBerth, runOrThrow, runJsonOrThrow } from "../support/run-berth.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { contentsOf, tempFolder } from "../support/temp-folder.ts";

async function site(): Promise<string> {
  const folder = join(tempFolder(), "data");
  await makeLicensedSite(folder, { product: "cad" });
  return folder;
}

const refused = async (words: readonly string[], around: { cwd?: string } = {}) => {
  const { code, stdout, stderr } = await runBerth(words, around);
  expect(stdout).toBe("");
  const [said = "", hint = "", ...rest] = stderr.split("\n");
  expect(rest.length).toBeLessThan(2);
  return {
    code,
    said: said.replace("berth: error: ", ""),
    hint: hint.replace("berth: hint: ", ""),
  };
};

describe("help", () => {
  test.each([
    ["verify", "[FILE]", "berth verify /media/usb/site.berth"],
    ["backup", "FILE", "berth backup /media/usb/site.berth --data /srv/berth"],
    ["restore", "FILE", "berth restore /media/usb/site.berth --data /srv/berth"],
  ])("berth %s says what it takes and shows how", async (name, file, example) => {
    const text = await runOrThrow([name, "--help"]);
    expect(text).toStartWith(`berth ${name}: `);
    expect(text).toContain(`\n\nusage: berth ${name} ${file} [FLAGS]\n\n`);
    expect(text).toContain(`\n  ${example}\n`);
    expect(await runOrThrow(["help", name])).toBe(text);
  });

  test("that a server must be stopped for a restore, and need not be for a backup", async () => {
    expect(await runOrThrow(["restore", "--help"])).toContain("the server must be stopped");
    expect(await runOrThrow(["backup", "--help"])).toContain("the server may be running");
  });
});

describe("misuse is exit code 2", () => {
  test.each([
    ["backup", "a new file to write"],
    ["restore", "the backup"],
  ])("berth %s without a file", async (name, what) => {
    const folder = await site();
    const before = contentsOf(folder);
    for (const words of [[name], [name, ""]]) {
      expect(await refused([...words, "--data", folder])).toMatchObject({
        code: 2,
        said: `FILE is required: ${what}`,
      });
    }
    expect(contentsOf(folder)).toEqual(before);
  });

  test.each(["verify", "backup", "restore"])("berth %s with a file too many", async (name) => {
    const words = [name, "a", "b", "--data", join(tempFolder(), "data")];
    expect(await refused(words)).toEqual({
      code: 2,
      said: "unexpected argument: b",
      hint: `berth ${name} --help shows its arguments and flags`,
    });
  });

  test.each(["site.berth", "below/site.berth", "../data/site.berth"])(
    "a backup into the folder it is of: %s",
    async (name) => {
      const folder = await site();
      const before = contentsOf(folder);
      expect(await refused(["backup", name, "--data", folder], { cwd: folder })).toEqual({
        code: 2,
        said: "a backup must not be written inside the data folder",
        hint: "choose another folder",
      });
      expect(contentsOf(folder)).toEqual(before);
    },
  );

  test("--accept-loss belongs to restore alone", async () => {
    expect((await refused(["backup", "x", "--accept-loss"])).code).toBe(2);
  });
});

describe("a folder and a file taken for each other", () => {
  test("a folder named to verify is walked as the data folder it is", async () => {
    const folder = await site();
    const read = await runJsonOrThrow<{ path: string }>(["verify", folder]);
    expect(read).toEqual(await runJsonOrThrow(["verify", "--data", folder]));
    expect(read.path).toBe(folder);
  });

  test("a backup is not written over a folder, nor brought back from one", async () => {
    const [folder, other] = [await site(), tempFolder()];
    expect(await refused(["backup", other, "--data", folder])).toEqual({
      code: 1,
      said: `${other} is a folder`,
      hint: `specify a file in it: ${join(other, "site.berth")}`,
    });
    expect(await refused(["restore", other, "--data", folder])).toEqual({
      code: 1,
      said: `${other} is a folder`,
      hint: "name the backup, a file",
    });
    expect(readdirSync(other)).toEqual([]);
  });

  test.each(["status", "serve", "doctor", "verify"])("berth %s on a file", async (name) => {
    const file = join(tempFolder(), "file");
    writeFileSync(file, "");
    const listen = name === "serve" ? ["--listen", "127.0.0.1:0"] : [];
    const { code, said } = await refused([name, "--data", file, ...listen]);
    expect(code).toBe(1);
    expect(said).toMatch(new RegExp(`^${file} is not a folder \\(E[A-Z]+\\)$`));
  });
});

test("a file's name is of the working folder, as everywhere", async () => {
  const [folder, cwd] = [await site(), tempFolder()];
  const words = ["--data", folder];
  const made = await runJsonOrThrow<{ path: string }>(["backup", "site.berth", ...words], { cwd });
  expect(made.path).toBe(join(cwd, "site.berth"));
  expect(readdirSync(cwd)).toEqual(["site.berth"]);
  const read = await runJsonOrThrow<{ path: string }>(["verify", "site.berth"], { cwd });
  expect(read.path).toBe(made.path);
  await runOrThrow(["restore", "site.berth", "--data", "new"], { cwd });
  expect(existsSync(join(cwd, "new", "state.json"))).toBe(true);
});

describe("what is not there", () => {
  test("no folder is made by looking, nor by copying it", async () => {
    const folder = join(tempFolder(), "data");
    const out = join(tempFolder(), "site.berth");
    for (const words of [["verify"], ["backup", out]]) {
      expect(await refused([...words, "--data", folder])).toEqual({
        code: 78,
        said: `${folder} is not a data folder`,
        hint: "specify another folder with --data DIR",
      });
    }
    expect([existsSync(folder), existsSync(out)]).toEqual([false, false]);
  });

  test("a backup that is not there leaves no folder behind", async () => {
    const [file, folder] = [join(tempFolder(), "site.berth"), join(tempFolder(), "data")];
    for (const words of [
      ["verify", file],
      ["restore", file, "--data", folder],
    ]) {
      const { code, said } = await refused(words);
      expect([code, said]).toEqual([1, `${file} does not exist`]);
    }
    expect(existsSync(folder)).toBe(false);
  });

  test.each([
    ["nothing", "", "is empty", "copy it again from the original"],
    ["zeros", "\u0000".repeat(2_048), "is not a Berth backup", "use another backup file"],
    ["text", "berth ".repeat(500), "is not a Berth backup", "use another backup file"],
  ])("a file that holds %s is no backup, and leaves no folder behind", async (...row) => {
    const [, text, wrong, way] = row;
    const [file, folder] = [join(tempFolder(), "site.berth"), join(tempFolder(), "data")];
    writeFileSync(file, text);
    for (const words of [
      ["verify", file],
      ["restore", file, "--data", folder],
    ]) {
      expect(await refused(words)).toEqual({ code: 1, said: `${file} ${wrong}`, hint: way });
    }
    expect(existsSync(folder)).toBe(false);
  });

  test("a place to write to that is not there is a failure with a hint, and nothing more", async () => {
    const folder = await site();
    expect(await refused(["backup", "/nowhere/site.berth", "--data", folder])).toEqual({
      code: 1,
      said: "/nowhere does not exist (ENOENT)",
      hint: "create it, or choose another path",
    });
  });
});

describe("audit_keep_months is a number of months, or misuse", () => {
  const WRONG = ["-1", "x", "1.5", "12345", " 3", "0x10", "3 months"];

  const isMisuse = async (
    words: readonly string[],
    env: Record<string, string>,
    from: string,
  ): Promise<void> => {
    const cwd = tempFolder();
    const listen = ["--data", "data", "--listen", "127.0.0.1:0"];
    const { code, stdout, stderr } = await runBerth(["serve", ...listen, ...words], { cwd, env });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toStartWith(`berth: error: ${from}`);
    expect(stderr).toContain("\nberth: hint: ");
    expect(existsSync(join(cwd, "data"))).toBe(false);
  };

  test.each(WRONG)("by flag and by environment: %p", async (value) => {
    const must = "must be a number of months";
    await isMisuse([`--audit-keep-months=${value}`], {}, `--audit-keep-months ${must}`);
    const env = { BERTH_AUDIT_KEEP_MONTHS: value };
    await isMisuse([], env, `BERTH_AUDIT_KEEP_MONTHS: audit-keep-months ${must}`);
  });

  test.each(["-1", "1.5", "12345", '"x"', "true", "[3]"])("by file: %s", async (value) => {
    const path = join(tempFolder(), "berth.toml");
    writeFileSync(path, `audit_keep_months = ${value}\n`);
    await isMisuse(
      ["--config", path],
      {},
      `${path}:1: audit_keep_months must be a number of months`,
    );
  });
});
