import { describe, expect, test } from "bun:test";
import { commands } from "../../src/cli/command-table.ts";
import { commandFor } from "../../src/web/command-line.ts";

const plain = { executable: "berth", needsSudo: false, dataFolder: "" };
const service = { executable: "berth", needsSudo: true, dataFolder: "" };
const elsewhere = { executable: "/opt/b/berth", needsSudo: true, dataFolder: "/srv/my data" };

describe("commandFor", () => {
  test.each([
    [plain, "status", "berth status"],
    [service, "admin token --name me", "sudo berth admin token --name me"],
    [elsewhere, "verify", "sudo /opt/b/berth verify --data '/srv/my data'"],
    [elsewhere, "audit verify audit.jsonl", "/opt/b/berth audit verify audit.jsonl"],
    [elsewhere, "vendor list --dir DESK", "berth vendor list --dir DESK"],
    [plain, "service install", "sudo berth service install"],
    [service, "berth status", "sudo berth status"],
    [elsewhere, "sudo berth status", "sudo /opt/b/berth status --data '/srv/my data'"],
    [elsewhere, "berth status --data /x", "berth status --data /x"],
    [elsewhere, "move in site.move", "berth move in site.move"],
  ])("with %p, shows `%s` as `%s`", (context, command, shown) => {
    expect(commandFor(context, command)).toBe(shown);
  });

  test("adds --data to every command that has this flag, and to no other", () => {
    for (const { name, options, isHidden } of commands) {
      if (isHidden === true || name === "move in") continue;
      const hasFlag = options.some((option) => option.name === "data");
      expect([name, commandFor(elsewhere, name).includes("--data")]).toEqual([name, hasFlag]);
    }
  });
});
