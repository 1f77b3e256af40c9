import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  findInPgpass,
  readLogPassword,
  type LogPasswordSources,
} from "../../../src/operations/pair/log-password.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const NOBODY = 65_534;
const NONE: LogPasswordSources = { passwordFile: null, passwordCredential: null, pgpassFile: null };

const read = (sources: Partial<LogPasswordSources>): string | null =>
  readLogPassword(
    { ...NONE, ...sources },
    { user: "berth", database: "licenses" },
    { host: "db1", port: 5432 },
  );

function writeFile(content: string, mode = 0o600): string {
  const path = join(tempFolder(), "file");
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

describe("the password of a pair's database", () => {
  test("is none if no source has one", () => {
    expect(read({})).toBeNull();
    expect(read({ pgpassFile: join(tempFolder(), "missing") })).toBeNull();
  });

  // Root's home, for a command that continues as the service's user.
  test("is none if this user may not look into the folder of .pgpass", () => {
    const folder = join(tempFolder(), "home");
    mkdirSync(folder, { mode: 0o700 });
    const [uid, isRoot] = [process.geteuid?.() ?? 0, process.geteuid?.() === 0];
    if (isRoot) process.seteuid?.(NOBODY);
    else chmodSync(folder, 0);
    try {
      expect(read({ pgpassFile: join(folder, ".pgpass") })).toBeNull();
    } finally {
      if (isRoot) process.seteuid?.(uid);
    }
  });

  test("is the first line of the file, before all other sources", () => {
    const pgpassFile = writeFile("*:*:*:*:from pgpass\n");
    const passwordFile = writeFile(" two words \r\nsecond line\n");
    expect(read({ passwordFile, passwordCredential: "credential", pgpassFile })).toBe(
      " two words ",
    );
    expect(read({ passwordCredential: "credential", pgpassFile })).toBe("credential");
    expect(read({ pgpassFile })).toBe("from pgpass");
  });

  test("is read again with each connection, so that it can be changed", () => {
    const passwordFile = writeFile("old");
    expect(read({ passwordFile })).toBe("old");
    writeFileSync(passwordFile, "new");
    expect(read({ passwordFile })).toBe("new");
  });

  test("is refused if its file is missing or empty", () => {
    expect(() => read({ passwordFile: join(tempFolder(), "missing") })).toThrow("cannot be read");
    expect(() => read({ passwordFile: writeFile("\nsecret\n") })).toThrow("an empty line");
  });

  test("is refused if other users can read its file", () => {
    const passwordFile = writeFile("hunter2", 0o644);
    expect(() => read({ passwordFile })).toThrow("other users");
    const pgpassFile = writeFile("*:*:*:*:hunter2", 0o640);
    expect(() => read({ pgpassFile })).toThrow("other users");
    for (const sources of [{ passwordFile }, { pgpassFile }]) {
      expect(() => read(sources)).not.toThrow("hunter2");
    }
  });

  test("may be in a file of the service's group", () => {
    expect(read({ passwordFile: writeFile("secret", 0o640) })).toBe("secret");
  });
});

describe("a line of .pgpass", () => {
  const find = (text: string): string | null =>
    findInPgpass(text, ["db1", "5432", "licenses", "berth"]);

  for (const [line, password] of [
    ["db1:5432:licenses:berth:secret", "secret"],
    ["*:*:*:berth:secret", "secret"],
    [String.raw`*:*:*:*:with\:colon\\`, "with:colon\\"],
    ["*:*:*:*:a:b", "a:b"],
    ["db2:5432:licenses:berth:secret", null],
    ["db1:5433:*:*:secret", null],
    [String.raw`\*:*:*:*:secret`, null],
    ["#*:*:*:*:secret", null],
    ["berth:secret", null],
    ["", null],
  ] as const) {
    test(`“${line}” has ${password === null ? "no password" : "the password"} of the server`, () => {
      expect(find(line)).toBe(password);
    });
  }

  test("counts only if no line before it matches", () => {
    expect(find("db1:*:*:*:first\n*:*:*:*:second\n")).toBe("first");
  });
});
