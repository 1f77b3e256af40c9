import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { openAppliance } from "../../../support/appliance.ts";
import {
  runWithAnswers,
  runBerth,
  runJsonOrThrow,
  runOnTerminal,
  runOnTerminalWithAnswers,
} from "../../../support/run-berth.ts";
import { makeLicensedSite } from "../../../support/site-folder.ts";
import { tempFolder } from "../../../support/temp-folder.ts";

const GOOD = "correct horse battery";

/** Every command that asks for a password, with the user it sets one for. */
const COMMANDS: readonly (readonly [name: string, words: readonly string[], user: string])[] = [
  ["admin password", ["admin", "password"], "admin"],
  ["admin password --name", ["admin", "password", "--name", "ada"], "ada"],
  ["admin user add", ["admin", "user", "add", "eve", "--role", "admin"], "eve"],
];

async function makeSite(): Promise<string> {
  const data = join(tempFolder(), "data");
  await makeLicensedSite(data, { product: "cad" });
  return data;
}

async function usersIn(data: string): Promise<string[]> {
  const words = ["admin", "user", "list", "--data", data];
  const { users } = await runJsonOrThrow<{ users: { name: string }[] }>(words);
  return users.map(({ name }) => name);
}

async function canLogIn(data: string, user: string, password: string): Promise<boolean> {
  const appliance = await openAppliance({ folder: data, licenses: {} });
  const basic = Buffer.from(`${user}:${password}`).toString("base64");
  const [response] = await appliance.get("/auth", { authorization: `Basic ${basic}` });
  await appliance.stop();
  return response.status === 200;
}

describe.skipIf(process.platform === "win32")("on a terminal", () => {
  test.each(COMMANDS)(
    "berth %s asks for the password twice, and the user can log in with it",
    async (_name, words, user) => {
      const data = await makeSite();
      const result = await runWithAnswers(
        [...words, "--data", data],
        [
          ["password: ", GOOD],
          ["password again: ", GOOD],
        ],
      );
      expect([result.code, result.text]).toEqual([0, expect.stringContaining("can log in")]);
      expect(result.text).not.toContain(GOOD);
      expect(await canLogIn(data, user, GOOD)).toBe(true);
    },
  );

  test.each(COMMANDS)(
    "berth %s changes nothing when the two passwords differ",
    async (_name, words) => {
      const data = await makeSite();
      const result = await runWithAnswers(
        [...words, "--data", data],
        [
          ["password: ", GOOD],
          ["password again: ", "correct horse buttery"],
        ],
      );
      expect([result.code, result.text]).toEqual([
        1,
        expect.stringContaining("the two entries differ"),
      ]);
      expect(await usersIn(data)).toEqual([]);
    },
  );

  test.each([
    ["Ctrl-D", runOnTerminalWithAnswers, "\u0004"],
    ["an empty line", runWithAnswers, ""],
  ])("berth admin password changes nothing after %s", async (_name, run, typed) => {
    const data = await makeSite();
    const words = ["admin", "password", "--data", data];
    const result = await run(words, [["password: ", typed]]);
    expect([result.code, result.text]).toEqual([
      1,
      expect.stringContaining("no password was entered"),
    ]);
    expect(await usersIn(data)).toEqual([]);
  });

  test("berth admin password ends with 130 after Ctrl-C, and changes nothing", async () => {
    const data = await makeSite();
    const words = ["admin", "password", "--data", data];
    const result = await runOnTerminalWithAnswers(words, [["password: ", "correct\u0003"]]);
    expect([result.code, result.text]).toEqual([
      130,
      expect.stringContaining("berth: error: interrupted; nothing was changed"),
    ]);
    expect(await usersIn(data)).toEqual([]);
  });

  test.each([
    ["too short", "elevencharz"],
    ["too long", "\u00e9".repeat(513)],
  ])(
    "berth admin password refuses a password that is %s before it asks again",
    async (_what, typed) => {
      const data = await makeSite();
      const words = ["admin", "password", "--data", data];
      const result = await runWithAnswers(words, [["password: ", typed]]);
      expect(result.code).toBe(1);
      expect(result.text).not.toContain("password again");
      const refused = await runBerth(words, { stdin: `${typed}\n` });
      expect([refused.code, refused.stderr.trim()]).toEqual([
        1,
        "berth: error: password must be 12 characters or more, and at most 1024 bytes (invalid_parameter)",
      ]);
      expect(result.text).toContain(refused.stderr.trim());
    },
  );

  test("berth admin password discards the typed text after Ctrl-U", async () => {
    const data = await makeSite();
    const words = ["admin", "password", "--data", data];
    const answer = `something else\u0015${GOOD}`;
    const result = await runOnTerminalWithAnswers(words, [
      ["password: ", answer],
      ["password again: ", GOOD],
    ]);
    expect([result.code, result.text]).toEqual([0, expect.stringContaining("can log in")]);
    expect(await canLogIn(data, "admin", GOOD)).toBe(true);
  });

  test("berth admin password changes nothing when the terminal is closed", async () => {
    const data = await makeSite();
    const words = ["admin", "password", "--data", data];
    const result = await runOnTerminalWithAnswers(words, [["password: ", null]]);
    expect(result.code).not.toBe(0);
    expect(await usersIn(data)).toEqual([]);
  });

  test("berth admin password applies a backspace in input that arrives at once", async () => {
    const data = await makeSite();
    let isTyped = false;
    const words = ["admin", "password", "--data", data];
    const result = await runOnTerminal(words, (text, terminal) => {
      if (isTyped || !text.includes("password: ")) return;
      isTyped = true;
      // Both answers arrive at once, as when text is pasted.
      terminal.write(`correct horse batterx\u007fy\r${GOOD}\r`);
    });
    expect([result.code, result.text]).toEqual([0, expect.stringContaining("can log in")]);
    expect(await canLogIn(data, "admin", GOOD)).toBe(true);
  });
});

describe("without a terminal", () => {
  test.each(COMMANDS)(
    "berth %s reads the password from the first line of standard input",
    async (_name, words, user) => {
      const data = await makeSite();
      const { code } = await runBerth([...words, "--data", data], { stdin: `${GOOD}\nmore\n` });
      expect(code).toBe(0);
      expect(await canLogIn(data, user, GOOD)).toBe(true);
    },
  );

  test.each(COMMANDS)(
    "berth %s exits with 2 when standard input is empty",
    async (_name, words) => {
      const data = await makeSite();
      const { code, stderr } = await runBerth([...words, "--data", data], { stdin: "" });
      expect([code, stderr]).toEqual([
        2,
        "berth: error: standard input contains no password\nberth: hint: the first line must be the password: berth admin password < FILE\n",
      ]);
      expect(await usersIn(data)).toEqual([]);
    },
  );
});
