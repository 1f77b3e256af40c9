import { describe, expect, test } from "bun:test";
import type { PoolRules, RuleSet } from "../../../src/domain/model/rules/rule-set.ts";
import { importOptions, type OptionsImport } from "../../../src/rules/flexnet/import-options.ts";
import type { PoolName } from "../../../src/domain/model/slots/pool-name.ts";
import { UNSUPPORTED_KEYWORDS } from "../../../src/rules/flexnet/unsupported-keywords.ts";
import { parseRules } from "../../../src/rules/parse-rules.ts";
import { OPTIONS_FILES } from "./options-files.ts";

interface Imported extends OptionsImport {
  readonly rules: RuleSet;
}

function importText(text: string, map: Readonly<Record<string, PoolName>> = {}): Imported {
  const result = importOptions(text, new Map(Object.entries(map)));
  const { rules, findings } = parseRules(result.toml);
  expect(findings.filter(({ severity }) => severity === "error")).toEqual([]);
  if (rules === null) throw new Error("the rules have errors");
  return { ...result, rules };
}

const poolOf = ({ rules }: Imported, product: string, feature: string | null = null): PoolRules => {
  const pool = rules.pools.find((rule) => rule.product === product && rule.feature === feature);
  if (pool === undefined) throw new Error(`no rules for ${product}`);
  return pool;
};

const groupOf = ({ rules }: Imported, name: string) =>
  rules.groups.find((group) => group.name === name);

const namesOf = (groups: readonly { readonly group: string }[] | null | undefined): string[] =>
  (groups ?? []).map(({ group }) => group).toSorted();

const notesOf = ({ notes }: Imported): string => notes.map(({ text }) => text).join("\n");

describe("importing an options file of FlexNet", () => {
  test("INCLUDE becomes allow_only, and RESERVE keeps its slots while they are idle", () => {
    const imported = importText(OPTIONS_FILES.small);
    const pool = poolOf(imported, "cad_base");
    expect(namesOf(pool.allowOnly)).toEqual(["design"]);
    expect(pool.reservations).toMatchObject([{ group: "user-ada", slots: 1, idle: "keep" }]);
    expect(groupOf(imported, "design")?.users).toEqual(["ada", "grace", "linus"]);
    expect(groupOf(imported, "user-ada")?.users).toEqual(["ada"]);
    expect(imported).toMatchObject({ converted: 3, unconverted: [] });
  });

  test("a backslash continues a line, and GROUP lines of the same name add up", () => {
    const imported = importText(OPTIONS_FILES.teams);
    const users = groupOf(imported, "sim")?.users.toSorted();
    expect(users).toEqual(["Ada", "Barbara", "Grace", "Ken", "Linus"]);
  });

  test("GROUPCASEINSENSITIVE ON ignores case in groups of the file", () => {
    const imported = importText(OPTIONS_FILES.teams);
    expect(["sim", "farm"].map((name) => groupOf(imported, name)?.ignoreCase)).toEqual([
      true,
      true,
    ]);
    const single = importText("GROUPCASEINSENSITIVE ON\nEXCLUDE f USER Ada\n");
    expect(groupOf(single, "user-Ada")?.ignoreCase).toBe(false);
    const off = importText("GROUPCASEINSENSITIVE OFF\nGROUP g Ada\nEXCLUDE f GROUP g\n");
    expect(groupOf(off, "g")?.ignoreCase).toBe(false);
  });

  test("GROUPCASEINSENSITIVE ON without a group is named in a note with its line", () => {
    const imported = importText("# case\nGROUPCASEINSENSITIVE ON\nEXCLUDE f USER Ada\n");
    const text =
      "GROUPCASEINSENSITIVE changes nothing: the file defines no GROUP and no HOST_GROUP";
    expect(imported.notes).toContainEqual({ line: 2, text });
    const withGroup = "GROUPCASEINSENSITIVE ON\nHOST_GROUP g ws-1\nEXCLUDE f HOST_GROUP g\n";
    expect(notesOf(importText(withGroup))).not.toContain("GROUPCASEINSENSITIVE");
  });

  test("RESERVE lines of one group for one feature add up, with a note", () => {
    const imported = importText(OPTIONS_FILES.teams);
    expect(poolOf(imported, "solver").reservations).toMatchObject([
      { group: "farm", slots: 4 },
      { group: "sim", slots: 3 },
    ]);
    expect(notesOf(imported)).toContain("add up to 3");
  });

  test("MAX for a group limits the sum of the group, and for ALL_USERS each user", () => {
    const imported = importText(OPTIONS_FILES.teams);
    const pool = poolOf(imported, "solver");
    expect(pool.eachUser?.slots).toBe(3);
    expect(pool.groupLimits).toMatchObject([{ group: "farm", slots: 6 }]);
    expect(poolOf(imported, "mesher").groupLimits).toMatchObject([
      { group: "contractors", slots: 1 },
    ]);
  });

  test("hosts of a HOST_GROUP that are addresses become networks", () => {
    const group = groupOf(importText(OPTIONS_FILES.teams), "farm");
    expect(group).toMatchObject({ hosts: ["node01", "node02"], networks: ["10.20.30.0/24"] });
  });

  test("EXCLUDE becomes deny", () => {
    expect(namesOf(poolOf(importText(OPTIONS_FILES.teams), "solver").deny)).toEqual([
      "contractors",
    ]);
  });

  test("the options of borrowing become borrow, and the last MAX_BORROW_HOURS counts", () => {
    const imported = importText(OPTIONS_FILES.borrow);
    const { borrow } = poolOf(imported, "cad");
    expect(namesOf(borrow?.allowOnly)).toEqual(["field"]);
    expect(namesOf(borrow?.deny)).toEqual(["host-kiosk-1", "interns"]);
    expect(borrow?.maxHours?.hours).toBe(72);
    expect(borrow?.keepHome?.slots).toBe(3);
    expect(imported.unconverted.map(({ line }) => line)).toEqual([9]);
  });

  test("addresses with wildcards become networks of IPv4 and IPv6", () => {
    const imported = importText(OPTIONS_FILES.networks);
    const pool = poolOf(imported, "viewer");
    const networks = namesOf(pool.allowOnly).flatMap(
      (name) => groupOf(imported, name)?.networks ?? [],
    );
    expect(networks.toSorted()).toEqual([
      "10.1.0.0/16",
      "172.16.5.0/24",
      "192.168.7.12/32",
      "fec0:1:2:0:0:0:0:0/48",
    ]);
    expect(imported.unconverted).toMatchObject([{ line: 5 }]);
  });

  test("INCLUDEALL and EXCLUDEALL are written for every feature of the file, with a note", () => {
    const imported = importText(OPTIONS_FILES.networks);
    for (const product of ["viewer", "editor"]) {
      const { deny, allowOnly } = poolOf(imported, product);
      expect(namesOf(deny)).toEqual(["net-10-1-99-0-24", "user-mallory"]);
      expect(namesOf(allowOnly)).toContain("admins");
    }
    expect(notesOf(imported)).toContain("for each product below");
  });

  test("INCLUDEALL also covers the features of the map that the file does not name", () => {
    const imported = importText("INCLUDEALL USER ada\n", {
      extra: { product: "CAE", feature: null },
    });
    expect(namesOf(poolOf(imported, "CAE").allowOnly)).toEqual(["user-ada"]);
  });

  test("INCLUDEALL without any feature is not converted, and the reason is named", () => {
    const { unconverted, converted } = importText("INCLUDEALL USER ada\n");
    expect(converted).toBe(0);
    expect(unconverted).toMatchObject([
      { line: 1, reason: expect.stringContaining("names no feature") },
    ]);
  });

  test("every line without an equivalent is named with its number and a reason", () => {
    const imported = importText(OPTIONS_FILES.refused);
    const lines = OPTIONS_FILES.refused.trimEnd().split("\n");
    expect(imported.converted).toBe(0);
    expect(imported.unconverted.map(({ line }) => line)).toEqual(
      lines.map((_, index) => index + 1),
    );
    const reasonOf = (text: string) =>
      imported.unconverted.find((line) => line.text.includes(text))?.reason ?? "";
    expect(reasonOf("PROJECT")).toContain("LM_PROJECT");
    expect(reasonOf("DISPLAY")).toContain("display");
    expect(reasonOf("nosuchgroup")).toContain("not defined");
    expect(reasonOf("VERSION=2.0")).toContain("if cad:VERSION=2.0 is given a product");
    expect(reasonOf("KEY=ABCDEF")).toContain("if cad:KEY=ABCDEF is given a product");
    expect(reasonOf("RESERVE two")).toContain("RESERVE number feature type name");
    expect(reasonOf("RESERVE 0")).toContain("reserves nothing");
    expect(reasonOf("PLANET")).toContain("not a type");
    expect(reasonOf("FROBNICATE")).toContain("not an option");
    expect(reasonOf("SIGN=0")).toContain("license file");
    expect(reasonOf("unclosed")).toContain("quotation mark");
    expect(reasonOf("USER a*")).toContain("*");
    expect(reasonOf("GROUP stars").length).toBeGreaterThan(0);
    for (const { line, text } of imported.unconverted) {
      expect(imported.toml).toContain(`# line ${line}: ${text}`);
    }
  });

  test("a closed feature of which no INCLUDE can be converted is noted as open", () => {
    expect(notesOf(importText(OPTIONS_FILES.refused))).toContain("open to everyone");
  });

  test("each option that only FlexNet has is named with a reason of its own", () => {
    for (const [keyword, reason] of UNSUPPORTED_KEYWORDS) {
      const { unconverted } = importText(`${keyword} a b\n`);
      expect(unconverted).toEqual([{ line: 1, lastLine: 1, text: `${keyword} a b`, reason }]);
    }
  });

  test("a qualified feature is converted if the map names it with its qualifier", () => {
    const imported = importText(OPTIONS_FILES.qualified, {
      "MATLAB:asset_info=123456": { product: "MATLAB", feature: null },
    });
    const pool = poolOf(imported, "MATLAB");
    expect(namesOf(pool.allowOnly)).toEqual(["power-users"]);
    expect(pool.reservations).toMatchObject([{ group: "power-users", slots: 2 }]);
    expect(imported.unconverted).toEqual([]);
    expect(notesOf(imported)).toContain("# only these is read as a comment");
    expect(notesOf(imported)).toContain("GROUP power users is the group power-users");
  });

  test("a second name in a line is noted, because FlexNet reads one", () => {
    const imported = importText("INCLUDE f USER ada grace\n");
    expect(namesOf(poolOf(imported, "f").allowOnly)).toEqual(["user-ada"]);
    expect(notesOf(imported)).toContain("left out: grace");
  });

  test("MAX 0 becomes deny, and MAX for ALL_GROUPS a limit of each group", () => {
    const pool = poolOf(importText(OPTIONS_FILES.qualified), "SIMULINK");
    expect(namesOf(pool.deny)).toEqual(["user-eve"]);
    expect(pool.groupLimits).toMatchObject([
      { group: "power-users", slots: 2 },
      { group: "user-ada", slots: 5 },
    ]);
  });

  test("a feature becomes a floating feature of a product if the map says so", () => {
    const map = { mesh: { product: "CAE", feature: "MESH" } };
    const imported = importText("MAX 2 mesh USER ada\nBORROW_LOWWATER mesh 1\n", map);
    expect(poolOf(imported, "CAE", "MESH").groupLimits).toMatchObject([{ slots: 2 }]);
    expect(imported.unconverted).toMatchObject([
      { line: 2, reason: expect.stringContaining("floating feature") },
    ]);
  });

  test("names that were given a product are noted if the file does not have them", () => {
    const target = { product: "CAE", feature: null };
    const notes = notesOf(importText("MAX 2 mesh USER ada\n", { mesh: target, solve: target }));
    expect(notes).toContain("the file does not name these features");
    expect(notes).toContain("which were given a product: solve");
  });

  test("who may borrow a floating feature has no equivalent", () => {
    const map = { mesh: { product: "CAE", feature: "MESH" } };
    const text = "INCLUDE_BORROW mesh USER ada\nEXCLUDE_BORROW mesh USER eve\n";
    expect(importText(text, map).unconverted).toMatchObject([
      { line: 1, reason: expect.stringContaining("INCLUDE_BORROW needs a product") },
      { line: 2, reason: expect.stringContaining("EXCLUDE_BORROW needs a product") },
    ]);
  });

  test("the lower one of two limits of a group counts, in either order, with a note", () => {
    for (const text of ["MAX 2 f USER a\nMAX 5 f USER a\n", "MAX 5 f USER a\nMAX 2 f USER a\n"]) {
      const imported = importText(text);
      expect(poolOf(imported, "f").groupLimits).toMatchObject([{ slots: 2 }]);
      expect(notesOf(imported)).toContain("user-a has two limits; the lower one counts");
    }
  });

  test("two features that become one product share its rules, with a note", () => {
    const map = { f1: { product: "CAD", feature: null }, f2: { product: "CAD", feature: null } };
    const text = "RESERVE 2 f1 USER a\nRESERVE 3 f2 USER a\nMAX 5 f1 USER a\nMAX 4 f2 USER a\n";
    const imported = importText(text, map);
    const pool = poolOf(imported, "CAD");
    expect(pool.reservations).toMatchObject([{ slots: 3 }]);
    expect(pool.groupLimits).toMatchObject([{ slots: 4 }]);
    expect(notesOf(imported)).toContain("f1, f2 share its rules");
  });

  test("two features that become one product have the stricter one of their borrow limits", () => {
    const map = { f1: { product: "CAD", feature: null }, f2: { product: "CAD", feature: null } };
    const hours = "MAX_BORROW_HOURS f1 8\nMAX_BORROW_HOURS f2 24\n";
    const { toml } = importText(`${hours}BORROW_LOWWATER f1 3\nBORROW_LOWWATER f2 1\n`, map);
    expect(toml).toContain("borrow = { max_hours = 8, keep_home = 3 }");
  });

  test("GROUP and HOST_GROUP of the same name stay two groups", () => {
    const text =
      "GROUP lab ada\nHOST_GROUP lab ws1\nINCLUDE f GROUP lab\nEXCLUDE f HOST_GROUP lab\n";
    const imported = importText(text);
    expect(groupOf(imported, "lab")).toMatchObject({ users: ["ada"], hosts: [] });
    expect(groupOf(imported, "lab-hosts")).toMatchObject({ users: [], hosts: ["ws1"] });
    expect(namesOf(poolOf(imported, "f").deny)).toEqual(["lab-hosts"]);
  });

  test("a user with two reservations is noted, because Berth counts the first by name", () => {
    const text = "GROUP b ada\nGROUP a ada\nRESERVE 1 f GROUP a\nRESERVE 1 f GROUP b\n";
    expect(notesOf(importText(text))).toContain("ada: reserved for a and for b");
  });

  test("a user with three reservations is noted with the first of them only", () => {
    const groups = ["a", "b", "c"].map((name) => `GROUP ${name} ada\nRESERVE 1 f GROUP ${name}\n`);
    const notes = notesOf(importText(groups.join("")));
    expect(notes).toContain("ada: reserved for a and for b");
    expect(notes).toContain("ada: reserved for a and for c");
    expect(notes).not.toContain("for b and for c");
  });

  test("pairs of reserved groups are noted up to 20, and the rest is counted", () => {
    const lines = [1, 2, 3, 4, 5, 6].flatMap((index) => [
      `RESERVE 1 f USER user${index}`,
      `RESERVE 1 f HOST host${index}`,
    ]);
    const notes = notesOf(importText(lines.join("\n")));
    expect(notes.match(/callers in both: reserved for/g)).toHaveLength(20);
    expect(notes).toContain("16 more pairs of reserved groups");
    expect(notes).toContain("reserved for host-host1 and for user-user1");
  });

  test("the lower one of two limits for ALL_USERS counts, in either order", () => {
    for (const [first, second] of [
      [2, 5],
      [5, 2],
    ]) {
      const text = `MAX ${first} f USER ALL_USERS\nMAX ${second} f USER ALL_USERS\n`;
      expect(poolOf(importText(text), "f").eachUser).toMatchObject({ slots: 2 });
    }
  });

  test("a member of a group without an equivalent is noted, and the others are converted", () => {
    const imported = importText("GROUP lab ada eve#1\nINCLUDE f GROUP lab\n");
    expect(groupOf(imported, "lab")).toMatchObject({ users: ["ada"] });
    expect(notesOf(imported)).toContain("a member is left out: eve#1");
    expect(imported.unconverted).toEqual([]);
  });

  test("a limit of one user above that of all users is noted", () => {
    const text = "MAX 5 f USER ada\nMAX 2 f USER ALL_USERS\n";
    expect(notesOf(importText(text))).toContain("the limit 5 of user-ada is above the limit 2");
  });

  test("that a reservation counts once per product is noted once", () => {
    const notes = notesOf(importText(OPTIONS_FILES.teams));
    expect(notes.split("counts once for a product")).toHaveLength(2);
  });

  test("a file with CRLF and a byte order mark reads as one without", () => {
    const plain = importOptions(OPTIONS_FILES.teams, new Map());
    const dos = `\uFEFF${OPTIONS_FILES.teams.replaceAll("\n", "\r\n")}`;
    expect(importOptions(dos, new Map())).toEqual(plain);
  });

  test("a control character in a line cannot end the comment that names the line", () => {
    const { toml } = importText("NOLOG \u0007 \u2028 [[rule]]\n");
    expect(toml).toContain("# line 1: NOLOG ? ? [[rule]]");
  });

  test("an empty file becomes rules without groups", () => {
    expect(importText("# nothing\n\n").rules).toEqual({ groups: [], pools: [] });
  });
});
