import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { describe, expect, test } from "bun:test";
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
  access: 1,
  tokens: [token("ops", "a"), { ...token("monitoring", "b"), role: "viewer" }],
  users: [user("ada", "admin"), user("bob", "user"), user("eve", "viewer")],
};

/** What a version without the role `viewer` requires of the file. It ignores other members. */
const OldAccessList = Type.Object({
  access: Type.Literal(1),
  tokens: Type.Array(Type.Object({ name: Type.String(), sha256: Type.String() })),
  users: Type.Array(
    Type.Object({
      name: Type.String(),
      role: Type.Union([Type.Literal("admin"), Type.Literal("user")]),
    }),
  ),
});

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

describe("tokens for metrics in access.json", () => {
  const metricsToken = { ...token("prometheus", "d"), role: "metrics" as const };
  const list: AccessList = { ...LIST, tokens: [...LIST.tokens, metricsToken] };

  test("are read as they were saved", async () => {
    const { file, save } = await openFile();
    await save(list);
    expect(file.read()).toEqual(list);
  });

  test("are not found by versions that know no such role", async () => {
    const { save, readText } = await openFile();
    await save(list);
    const { metrics, ...known } = JSON.parse(readText()) as { metrics: object; viewers: object };
    expect(metrics).toEqual({ tokens: [metricsToken] });
    expect(JSON.stringify(known)).not.toContain("prometheus");
    expect(Value.Check(OldAccessList, known)).toBe(true);
  });

  test("stay tokens for metrics without a role in their rows", async () => {
    const { file, readText, writeText } = await openFile();
    writeText(
      JSON.stringify({
        ...JSON.parse(readText()),
        metrics: { tokens: [token("prometheus", "d")] },
      }),
    );
    expect(file.read()).toEqual(list);
  });
});

describe("viewers in access.json", () => {
  test("are read as they were saved", async () => {
    const { file } = await openFile();
    expect(file.read()).toEqual(LIST);
  });

  test("are not found by a version that takes every token for an administrator's", async () => {
    const { readText } = await openFile();
    const content: unknown = JSON.parse(readText());
    expect(Value.Check(OldAccessList, content)).toBe(true);
    const { tokens, users } = content as typeof OldAccessList.static;
    expect(tokens.map(({ name }) => name)).toEqual(["ops"]);
    expect(users.map(({ name }) => name)).toEqual(["ada", "bob"]);
  });

  test("stay viewers whatever role their rows have", async () => {
    const { file, readText, writeText } = await openFile();
    writeText(readText().replaceAll('"role": "viewer"', '"role": "admin"'));
    expect(() => file.read()).toThrow("is damaged");
    const content = JSON.parse(readText()) as { viewers: { tokens: object[]; users: object[] } };
    content.viewers = { tokens: [token("monitoring", "b")], users: [user("eve", "admin")] };
    writeText(JSON.stringify(content));
    expect(file.read()).toEqual(LIST);
  });

  test("among the administrators' tokens are viewers too", async () => {
    const { file, writeText } = await openFile();
    writeText(JSON.stringify(LIST));
    expect(file.read()).toEqual(LIST);
  });

  test("lose their name to a credential that an older version created with it", async () => {
    const { file, readText, writeText } = await openFile();
    const content = JSON.parse(readText()) as AccessList;
    const [again, eve] = [token("monitoring", "c"), user("eve", "user")];
    content.tokens.push(again);
    content.users.push(eve);
    writeText(JSON.stringify(content));
    expect(file.read()).toMatchObject({
      tokens: [token("ops", "a"), again],
      users: [user("ada", "admin"), user("bob", "user"), eve],
    });
  });

  test("leave no empty member behind when the last one is removed", async () => {
    const { save, readText } = await openFile();
    await save({ access: 1, tokens: [token("ops", "a")], users: [] });
    expect(JSON.parse(readText())).toEqual({ access: 1, tokens: [token("ops", "a")], users: [] });
  });
});
