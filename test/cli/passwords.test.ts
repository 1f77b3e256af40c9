import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { answeringAll, berth, doneJson, onTerminal, start } from "../support/berth.ts";
import { makeSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

// Processes of their own, on a machine that may be busy with others.
setDefaultTimeout(60_000);

const GOOD = "correct horse battery";

/** Every command that asks for a password, with the user it sets one for. */
const COMMANDS: readonly (readonly [name: string, words: readonly string[], user: string])[] = [
  ["admin password", ["admin", "password"], "admin"],
  ["admin password --name", ["admin", "password", "--name", "ada"], "ada"],
  ["admin user add", ["admin", "user", "add", "eve", "--role", "admin"], "eve"],
];

async function site(): Promise<string> {
  const data = join(tempFolder(), "data");
  await makeSite(data, { product: "cad" });
  return data;
}

async function usersIn(data: string): Promise<string[]> {
  const words = ["admin", "user", "list", "--data", data];
  const { users } = await doneJson<{ users: { name: string }[] }>(words);
  return users.map(({ name }) => name);
}

async function canLogIn(data: string, user: string, password: string): Promise<boolean> {
  const server = await start(["serve", "--data", data]);
  const basic = Buffer.from(`${user}:${password}`).toString("base64");
  const headers = { authorization: `Basic ${basic}` };
  const { status } = await fetch(`${server.url}/auth`, { headers });
  await server.stop();
  return status === 200;
}

describe.skipIf(process.platform === "win32")("on a terminal", () => {
  test.each(COMMANDS)(
    "berth %s asks for the password twice, and the user can log in with it",
    async (_name, words, user) => {
      const data = await site();
      const shown = await answeringAll(
        [...words, "--data", data],
        [
          ["password: ", GOOD],
          ["password again: ", GOOD],
        ],
      );
      expect([shown.code, shown.text]).toEqual([0, expect.stringContaining("may log in")]);
      expect(shown.text).not.toContain(GOOD);
      expect(await canLogIn(data, user, GOOD)).toBe(true);
    },
  );

  test.each(COMMANDS)(
    "berth %s changes nothing when the two passwords differ",
    async (_name, words) => {
      const data = await site();
      const shown = await answeringAll(
        [...words, "--data", data],
        [
          ["password: ", GOOD],
          ["password again: ", "correct horse buttery"],
        ],
      );
      expect([shown.code, shown.text]).toEqual([1, expect.stringContaining("not the same")]);
      expect(await usersIn(data)).toEqual([]);
    },
  );

  test.each([
    ["Ctrl-C", "\u0003"],
    ["Ctrl-D", "\u0004"],
    ["an empty line", ""],
  ])("berth admin password changes nothing after %s", async (_name, typed) => {
    const data = await site();
    const words = ["admin", "password", "--data", data];
    const shown = await answeringAll(words, [["password: ", typed]]);
    expect([shown.code, shown.text]).toEqual([1, expect.stringContaining("no password was typed")]);
    expect(await usersIn(data)).toEqual([]);
  });

  test("berth admin password changes nothing when the terminal is closed", async () => {
    const data = await site();
    const words = ["admin", "password", "--data", data];
    const shown = await answeringAll(words, [["password: ", null]]);
    expect(shown.code).not.toBe(0);
    expect(await usersIn(data)).toEqual([]);
  });

  test("a password typed with corrections and all at once is taken as corrected", async () => {
    const data = await site();
    let isTyped = false;
    const words = ["admin", "password", "--data", data];
    const shown = await onTerminal(words, (text, terminal) => {
      if (isTyped || !text.includes("password: ")) return;
      isTyped = true;
      // Both answers arrive in one piece, as from a pasting terminal.
      terminal.write(`correct horse batterx\u007fy\r${GOOD}\r`);
    });
    expect([shown.code, shown.text]).toEqual([0, expect.stringContaining("may log in")]);
    expect(await canLogIn(data, "admin", GOOD)).toBe(true);
  });
});

describe("without a terminal", () => {
  test.each(COMMANDS)(
    "berth %s takes the first line of its standard input",
    async (_name, words, user) => {
      const data = await site();
      const { code } = await berth([...words, "--data", data], { stdin: `${GOOD}\nmore\n` });
      expect(code).toBe(0);
      expect(await canLogIn(data, user, GOOD)).toBe(true);
    },
  );

  test.each(COMMANDS)("berth %s is misuse when nothing comes in", async (_name, words) => {
    const data = await site();
    const { code, stderr } = await berth([...words, "--data", data], { stdin: "" });
    expect([code, stderr]).toEqual([2, expect.stringContaining("no password came in")]);
    expect(await usersIn(data)).toEqual([]);
  });
});
