// berth.d.ts is written by hand: these tests compare it with what berth.js exports.
import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, type Class, type Program } from "oxc-parser";
import { tempFolder } from "../support/temp-folder.ts";

const ROOT = join(import.meta.dir, "..", "..");
const FOLDER = join(ROOT, "src", "clients");

type Constructor = new (...values: never[]) => object;

const declarations: Program = parseSync(
  "berth.d.ts",
  readFileSync(join(FOLDER, "berth.d.ts"), "utf8"),
).program;

/** The classes of berth.d.ts by name. */
const declaredClasses = new Map(
  declarations.body.flatMap((statement): [string, Class][] =>
    statement.type === "ExportNamedDeclaration" &&
    statement.declaration?.type === "ClassDeclaration"
      ? [[statement.declaration.id?.name ?? "", statement.declaration]]
      : [],
  ),
);

// The path is computed, so that the compiler does not read the types that are tested here.
const client = (await import(join(FOLDER, "berth.js"))) as Record<string, Constructor>;

/** Names of the members that a class declares itself, without the constructor. */
function listDeclaredMembers(declared: Class | undefined): string[] {
  return (declared?.body.body ?? []).flatMap((member) => {
    if (!("key" in member) || member.key.type === "PrivateIdentifier") return [];
    if (member.key.type === "MemberExpression") return ["asyncDispose"];
    return member.key.type === "Identifier" && member.key.name !== "constructor"
      ? [member.key.name]
      : [];
  });
}

/** Names of the getters and methods of a class, without the constructor. */
function listMembers(type: Constructor | undefined): string[] {
  const prototype = (type?.prototype ?? {}) as object;
  const names = Object.getOwnPropertyNames(prototype).filter((name) => name !== "constructor");
  return Symbol.asyncDispose in prototype ? [...names, "asyncDispose"] : names;
}

describe("berth.d.ts", () => {
  test("declares the classes that berth.js exports, and no others", () => {
    expect([...declaredClasses.keys()].toSorted()).toEqual(Object.keys(client).toSorted());
    expect(declaredClasses.size).toBeGreaterThan(10);
  });

  test.each(["Client", "Slot", "Feature"])("declares the members of %s", (name) => {
    const declared = listDeclaredMembers(declaredClasses.get(name));
    expect(declared.toSorted()).toEqual(listMembers(client[name]).toSorted());
    expect(declared).toContain("asyncDispose");
  });

  test("declares the members and the base classes of the errors", () => {
    const { Client: _client, Slot: _slot, Feature: _feature, ...errors } = client;
    for (const [name, type] of Object.entries(errors)) {
      expect(name).toEndWith("Error");
      const declared = declaredClasses.get(name);
      const base = declared?.superClass;
      const baseName = base?.type === "Identifier" ? base.name : null;
      expect(`${name} extends ${baseName}`).toBe(
        `${name} extends ${(Object.getPrototypeOf(type) as Constructor).name}`,
      );
      const own = ["BerthError", "NoFreeSlotError"].includes(name);
      expect(listDeclaredMembers(declared).length > 0).toBe(own);
      const error = new type();
      const inherited = own ? [] : listDeclaredMembers(declaredClasses.get("BerthError"));
      for (const member of [...listDeclaredMembers(declared), ...inherited]) {
        expect(Object.keys(error)).toContain(member);
      }
    }
  });

  test("describes every method in a comment", () => {
    const text = readFileSync(join(FOLDER, "berth.d.ts"), "utf8");
    const methods = [...text.matchAll(/^ {2}(\w+)\(/gm)].filter(
      ([, name]) => name !== "constructor",
    );
    for (const { index, 1: name } of methods) {
      const before = text.slice(0, index).trimEnd();
      expect(`${name}: ${before.endsWith("*/")}`).toBe(`${name}: true`);
    }
    expect(methods.length).toBeGreaterThan(8);
  });
});

const PROGRAM = `
import { BerthError, Client, NoFreeSlotError, type Borrow, type Lease } from "./berth.js";

export async function work(): Promise<Lease | null> {
  const key = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };
  await using client = new Client(["https://a:8443", "https://b:8443"], "CAD", {
    ca: "ca.pem",
    login: { name: "ada", password: "secret" },
    timeout: 5,
    retryFor: 20,
    rootKeys: [key, key.x],
    retired: [key.x],
  });
  try {
    await using slot = await client.acquire("ada", {
      wait: 60,
      onLoss: (lost, error) => console.error(lost.user, error.code, error.message),
      onWait: (position, length) => console.error(position + length),
      signal: AbortSignal.timeout(1_000),
    });
    const feature = await slot.acquireFeature("RENDER", { onLoss: (lost) => lost.code });
    const isConfirmed: boolean = await feature.release();
    const { total, maximum } = await client.consume(2, { feature: "EXPORT", allowOverages: false });
    const left: number | null = maximum === null || !isConfirmed ? null : maximum - total;
    if (left !== null && slot.isHeld) console.error(left, slot.license.id.toFixed());
    const borrow: Borrow = await client.borrow("ada", { until: new Date() });
    return borrow.lease === null ? null : await client.verify(borrow.lease, borrow.license);
  } catch (error) {
    if (error instanceof NoFreeSlotError) console.error(error.position?.toFixed());
    if (error instanceof BerthError) console.error(error.code, error.key?.length);
    return null;
  }
}
`;

const WRONG_LINES = [
  'new Client(["http://a"]);',
  'new Client(["http://a"], "CAD", { retry_for: 5 });',
  'void new Client("http://a", "CAD").acquire("ada", { wait: "60" });',
  'void new Client("http://a", "CAD").consume("2");',
  'void new Client("http://a", "CAD").borrow("ada");',
  'void new Client("http://a", "CAD").borrow("ada", { licenseId: 1 });',
  'void new Client("http://a", "CAD").borrow("ada", { untill: new Date() });',
  'void new Client("http://a", "CAD").borrow("ada", new Date());',
  'void new Client("http://a", "CAD").borrow("ada", "2026-11-23T18:00:00Z");',
  'new Client("http://a", "CAD").acquire("ada").isHeld;',
];

describe("a program with the types of berth.d.ts", () => {
  /** The output of the compiler, with its newest library unless another target is given. */
  function compile(
    program: string,
    target = ["--lib", "ESNext,DOM", "--target", "ESNext"],
  ): string {
    const folder = tempFolder();
    mkdirSync(folder, { recursive: true });
    for (const name of ["berth.js", "berth.d.ts"]) {
      writeFileSync(join(folder, name), readFileSync(join(FOLDER, name)));
    }
    writeFileSync(join(folder, "program.ts"), program);
    const flags = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--types", ""];
    const tsc = join(ROOT, "node_modules", ".bin", "tsc");
    const module = ["--module", "NodeNext", "--ignoreConfig"];
    const command = [tsc, ...flags, ...target, ...module, "program.ts"];
    return Bun.spawnSync(command, { cwd: folder }).stdout.toString();
  }

  test("compiles", () => {
    expect(compile(PROGRAM)).toBe("");
  }, 60_000);

  test("compiles with a library that has no Symbol.asyncDispose", () => {
    const program = PROGRAM.replaceAll("await using", "const");
    expect(compile(program, ["--target", "ES2022"])).toBe("");
  }, 60_000);

  test("does not compile with a wrong argument", () => {
    const lines = WRONG_LINES.map((line) => `// @ts-expect-error\n${line}`).join("\n");
    expect(compile(`${PROGRAM}\n${lines}`)).toBe("");
  }, 60_000);
});
