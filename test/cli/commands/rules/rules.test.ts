import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type {
  ExplanationReply,
  RulesCheckReply,
  RulesReply,
} from "../../../../src/http/routes/rules/rules-reply.ts";
import { runBerth, type CommandResult } from "../../../support/run-berth.ts";
import { makeLicensedSite } from "../../../support/site-folder.ts";
import { tempFolder } from "../../../support/temp-folder.ts";

const TEXT = `# who may use CAD
[groups.staff]
users = ["ada"]
[[rule]]
product = "cad"
allow_only = ["staff"]
limit = { each_user = 1 }
`;

interface Site {
  readonly folder: string;
  readonly file: string;
  readonly run: (...args: readonly string[]) => Promise<CommandResult>;
  readonly json: <T>(...args: readonly string[]) => Promise<T>;
}

async function makeSite(text = TEXT): Promise<Site> {
  const folder = tempFolder();
  const data = join(folder, "data");
  await makeLicensedSite(data, { product: "cad", slots: 2 });
  const file = join(folder, "rules.toml");
  writeFileSync(file, text);
  const run = (...args: readonly string[]): Promise<CommandResult> =>
    runBerth(["rules", ...args, "--data", data]);
  return {
    folder,
    file,
    run,
    async json<T>(...args: readonly string[]): Promise<T> {
      return JSON.parse((await run(...args, "--json")).stdout) as T;
    },
  };
}

describe("berth rules check", () => {
  const check = (text: string, ...args: readonly string[]) => {
    const folder = tempFolder();
    const file = join(folder, "rules.toml");
    writeFileSync(file, text);
    const words = ["rules", "check", file, "--data", join(folder, "none"), ...args];
    return runBerth(words);
  };

  test("works without a data folder, and says what it cannot compare", async () => {
    const { code, stdout, stderr } = await check(TEXT);
    expect([code, stdout]).toEqual([0, "no errors, 0 warnings\n"]);
    expect(stderr).toContain("no data folder");
  });

  test("exits with 1 and prints every finding with its line, if there is an error", async () => {
    const { code, stdout, stderr } = await check(
      TEXT.replace("each_user", "each_usr").replace('["staff"]', '["staf"]'),
    );
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain('rules.toml:6: error: there is no group "staf"');
    expect(stderr).toContain("did you mean");
    expect(stderr).toContain('rules.toml:7: error: unknown key "each_usr" in limit');
  });

  test("prints the findings as JSON, also with an error", async () => {
    const { code, stdout } = await check("[[rule]]\nproduct = 1\ndeny = []\n", "--json");
    expect(code).toBe(1);
    const { findings, preview } = JSON.parse(stdout) as RulesCheckReply;
    expect(findings.map(({ line, severity }) => [line, severity])).toEqual([[2, "error"]]);
    expect(preview).toBeNull();
  });

  test("with a data folder, compares the rules with its licenses", async () => {
    const site = await makeSite(TEXT.replace('"cad"', '"cam"'));
    const { code, stdout } = await site.run("check", site.file);
    expect(code).toBe(0);
    expect(stdout).toContain('rules.toml:5: warning: no license is installed for product "cam"');
    expect(stdout).toContain("no errors, 1 warning");
  });

  test("refuses to run without a file", async () => {
    const { code, stderr } = await runBerth(["rules", "check"]);
    expect([code, stderr.includes("a file with sharing rules is required")]).toEqual([2, true]);
  });
});

describe("berth rules apply, show, explain and clear", () => {
  test("apply rules, show them unchanged, explain a caller, and remove them", async () => {
    const site = await makeSite();
    const applied = await site.run("apply", site.file);
    expect([applied.code, applied.stderr]).toEqual([0, ""]);
    expect(applied.stdout).toContain("rules applied: 1 group, rules for 1 product or feature");
    expect((await site.run("apply", site.file)).stdout).toContain("already applied");

    const { stdout } = await site.run("show");
    expect(stdout).toBe(TEXT);
    const out = join(site.folder, "copy.toml");
    expect((await site.run("show", "--out", out)).code).toBe(0);
    expect(readFileSync(out, "utf8")).toBe(TEXT);
    expect((await site.run("show", "--out", out)).code).not.toBe(0);

    const refused = await site.run("explain", "--user", "bob", "--product", "cad");
    expect(refused.code).toBe(0);
    expect(refused.stdout).toMatch(/line 6 +allow_only +refuses +not in group staff/);
    expect(refused.stdout).toContain("register: refused, not_allowed_by_rules: ");
    expect(refused.stderr).toBe("");
    const granted = await site.json<ExplanationReply>("explain", "--user", "ada#2");
    expect([granted.groups, granted.register.result]).toEqual([["staff"], "granted"]);

    expect((await site.run("clear")).stdout).toBe("the rules are removed\n");
    expect((await site.json<RulesReply>("show")).applied_at).toBeNull();
    expect((await site.run("show")).stdout).toBe("no sharing rules are applied\n");
  }, 60_000);

  test("explain names the facts that groups look at and that were not given", async () => {
    const groups = '[groups.lab]\nhosts = ["lab-*"]\n[groups.net]\nnetworks = ["10.1.4.0/24"]\n';
    const site = await makeSite(`${groups}[[rule]]\nproduct = "cad"\ndeny = ["lab", "net"]\n`);
    expect((await site.run("apply", site.file)).code).toBe(0);
    const { stderr } = await site.run("explain", "--user", "bob");
    expect(stderr).toContain("groups by hosts did not match");
    expect(stderr).toContain("groups by networks did not match");
    const complete = ["explain", "--user", "bob", "--host", "ws-3", "--from", "10.1.4.9"];
    expect((await site.run(...complete)).stderr).toBe("");
  });

  test("apply nothing if the file has an error or is empty", async () => {
    const site = await makeSite(`${TEXT}reserve = [{ group = "staff", slots = 3 }]\n`);
    const wrong = await site.run("apply", site.file);
    expect([wrong.code, wrong.stdout]).toEqual([1, ""]);
    expect(wrong.stderr).toContain(
      'rules.toml:8: error: 3 slots of product "cad" are reserved, but there are only 2',
    );
    writeFileSync(site.file, " \n");
    const empty = await site.run("apply", site.file);
    expect(empty.code).toBe(1);
    expect(empty.stderr).toContain("berth rules clear");
    expect((await site.json<RulesReply>("show")).applied_at).toBeNull();
  }, 60_000);

  test("show writes no file if there are no rules", async () => {
    const site = await makeSite();
    const out = join(site.folder, "copy.toml");
    expect((await site.run("show", "--out", out)).stdout).toBe("no sharing rules are applied\n");
    expect(existsSync(out)).toBe(false);
  }, 60_000);
});
