import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runBerth, runOrThrow } from "../../support/run-berth.ts";
import { tempFolder } from "../../support/temp-folder.ts";

/** Makes a data folder with an identity and a token, but no license. */
async function makeSite(): Promise<string> {
  const folder = join(tempFolder(), "site");
  mkdirSync(folder);
  await runOrThrow(["admin", "token", "--name", "ops", "--data", folder]);
  return folder;
}

describe("a refused command with --json", () => {
  test("prints code, message and hint as JSON on stdout and the text on stderr", async () => {
    const data = await makeSite();
    const words = ["license", "remove", "4711", "--yes", "--data", data];
    const plain = await runBerth(words);
    expect([plain.code, plain.stdout]).toEqual([1, ""]);
    expect(plain.stderr).toContain("(license_not_found)\n");
    const { code, stdout, stderr } = await runBerth([...words, "--json"]);
    expect([code, stderr]).toEqual([plain.code, plain.stderr]);
    const refusal = JSON.parse(stdout) as { code: string; message: string; hint: string };
    expect(refusal).toEqual({
      code: "license_not_found",
      message: expect.any(String),
      hint: "berth license list shows what is installed",
    });
    expect(plain.stderr).toStartWith(`berth: error: ${refusal.message} (license_not_found)\n`);
  });

  test("prints null when there is no hint", async () => {
    const { stdout } = await runBerth(["qr", "join", "-", "--json"], { stdin: "" });
    expect(Object.keys(JSON.parse(stdout) as object)).toEqual(["code", "message", "hint"]);
    const data = await makeSite();
    const words = ["admin", "user", "add", "a\nb", "--data", data, "--json"];
    const refused = await runBerth(words, { stdin: "correct horse battery\n" });
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.stdout)).toMatchObject({ code: "invalid_characters", hint: null });
  });

  const cases: readonly [string, (folder: string) => string[], number, object][] = [
    ["misuse of a flag", () => ["status", "--dta", "x"], 2, { code: "misuse" }],
    ["an unknown command", () => ["statsu"], 2, { code: "misuse" }],
    ["a missing folder", (folder) => ["status", "--data", join(folder, "no")], 78, {}],
    [
      "a damaged data folder",
      (folder) => {
        mkdirSync(join(folder, "site"));
        writeFileSync(join(folder, "site", "state.json"), "damaged\n");
        return ["status", "--data", join(folder, "site")];
      },
      78,
      { code: "folder_refused" },
    ],
    [
      "a folder that is not a desk",
      (folder) => ["vendor", "list", "--dir", folder],
      1,
      { code: "desk_refused", hint: "create one with berth vendor init" },
    ],
    [
      "an error of the operating system",
      (folder) => {
        writeFileSync(join(folder, "file"), "");
        return ["vendor", "init", "--name", "A", "--product", "P", "--dir", join(folder, "file")];
      },
      1,
      { message: expect.stringMatching(/file is not a folder$/) },
    ],
  ];

  test.each(cases)("prints JSON for %s, with the same exit code", async (_, words, code, facts) => {
    const folder = tempFolder();
    const command = words(folder);
    const plain = await runBerth(command);
    const refused = await runBerth([...command, "--json"]);
    expect([plain.code, plain.stdout, refused.code]).toEqual([code, "", code]);
    expect(refused.stderr).toBe(plain.stderr);
    expect(JSON.parse(refused.stdout)).toEqual({
      code: expect.stringMatching(/^\w+$/),
      message: expect.any(String),
      hint: expect.any(String),
      ...facts,
    });
  });

  test("prints JSON with BERTH_JSON=true, but not for a --json after --", async () => {
    const data = join(tempFolder(), "no");
    const withVariable = await runBerth(["status", "--data", data], {
      env: { BERTH_JSON: "true" },
    });
    expect(JSON.parse(withVariable.stdout)).toHaveProperty("code");
    const afterDashes = await runBerth(["license", "remove", "--data", data, "--", "--json"]);
    expect(afterDashes.stdout).toBe("");
  });
});
