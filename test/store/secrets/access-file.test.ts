import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  AccessFile,
  encodeAccessList,
  type AccessList,
} from "../../../src/store/secrets/access-file.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const token = (name: string, digit: string) => ({
  name,
  sha256: digit.repeat(64),
  madeAt: 1,
  endsAt: null,
});
const user = <R extends "admin" | "viewer" | "user">(name: string, role: R) => ({
  name,
  role,
  argon2id: "$argon2id$x",
  setAt: 1,
});

const LIST: AccessList = {
  access: 2,
  tokens: [
    token("ops", "a"),
    { ...token("monitoring", "b"), role: "viewer" },
    { ...token("prometheus", "d"), role: "metrics" },
  ],
  users: [user("ada", "admin"), user("bob", "user"), user("eve", "viewer")],
  sessions: [],
};

async function openFile() {
  const folder = tempFolder();
  const path = join(folder, "access.json");
  const file = new AccessFile(realDisk, folder);
  const save = (list: AccessList) => file.replace(encodeAccessList(list));
  const readText = () => readFileSync(path, "utf8");
  const writeText = (text: string) => writeFileSync(path, text);
  await save(LIST);
  return { file, save, readText, writeText };
}

test("tokens and users of every role are read from access.json as they were saved", async () => {
  const { file } = await openFile();
  expect(file.read()).toEqual(LIST);
});

test("access.json of another format is refused, and not taken for an empty list", async () => {
  const { file, readText, writeText } = await openFile();
  writeText(readText().replace('"access": 2', '"access": 1'));
  expect(() => file.read()).toThrow("is damaged");
});
