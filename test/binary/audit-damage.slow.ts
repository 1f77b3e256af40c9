// The compiled executable on a folder whose audit log is damaged, or has months to seal.
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type {
  AuditRepairReply,
  AuditSealReply,
} from "../../src/http/routes/audit/audit-maintenance.ts";
import type { DoctorReply, VerifyReply } from "../../src/http/running-server.ts";
import type { StatusReply } from "../../src/http/routes/health/status-schema.ts";
import { runWithAnswer } from "../support/run-berth.ts";
import { runBinary, type CommandResult } from "../support/binary.ts";
import { flipBit } from "../support/backup-site.ts";
import { getAdminJson, register, serveSite, type ServedSite } from "../support/served-site.ts";
import { readLines } from "../support/licensed-store.ts";
import { tempFolder } from "../support/temp-folder.ts";

interface AuditedFolder {
  readonly folder: string;
  /** The newest audit file, whose first lines are no longer in the journal. */
  readonly file: string;
}

async function makeAuditedFolder(): Promise<AuditedFolder> {
  const folder = join(tempFolder(), "data");
  for (const user of ["ada", "bob", "cem"]) {
    const site = await serveSite([], folder);
    await register(site, user);
    expect(await site.server.stop()).toBe(0);
  }
  const name = readdirSync(join(folder, "history")).toSorted().at(-1) ?? "";
  return { folder, file: join(folder, "history", name) };
}

/** Flips one bit of the second line, which is no longer in the journal. */
function damageAuditFile({ file }: AuditedFolder): void {
  flipBit(file, (readLines(file)[1]?.offset ?? 0) + 99);
}

const runBerth = (folder: string, ...args: string[]): Promise<CommandResult> =>
  runBinary([...args, "--data", folder]);

const runOrThrow = async (folder: string, ...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await runBerth(folder, ...args);
  expect([args, code, stderr]).toEqual([args, 0, stderr]);
  return stdout;
};

/** The warnings of the health check, except that this machine's disk may be slow. */
async function warningsOf({ server }: ServedSite): Promise<string[]> {
  const health = (await (await fetch(`${server.url}/api/v4/health`)).json()) as {
    readonly warnings?: readonly string[];
  };
  return (health.warnings ?? []).filter((code) => code !== "disk_slow");
}

const warning = expect.stringMatching(
  /^berth: warning: the audit log in .* is damaged \(line 2 missing; damaged files: .*\.jsonl\)/m,
);

describe("a changed byte in the audit log", () => {
  test("leaves backup, restore and move possible, with a warning", async () => {
    const audited = await makeAuditedFolder();
    const { folder } = audited;
    damageAuditFile(audited);
    const out = join(tempFolder(), "site.berth");
    expect(await runBerth(folder, "backup", out)).toMatchObject({ code: 0, stderr: warning });
    expect(await runBinary(["verify", out])).toMatchObject({ code: 0, stderr: warning });
    const facts = JSON.parse((await runBinary(["verify", out, "--json"])).stdout) as object;
    expect(facts).toMatchObject({
      ok: true,
      audit_damage: { missing: [{ from_line: 2, to_line: 2 }], files: [basename(audited.file)] },
    });
    const other = join(tempFolder(), "data");
    expect(await runBerth(other, "restore", out)).toMatchObject({ code: 0, stderr: warning });
    const moved = join(tempFolder(), "site.move");
    const movedOut = await runBerth(folder, "move", "out", moved, "--yes");
    expect(movedOut).toMatchObject({ code: 0, stderr: warning });
    const third = join(tempFolder(), "data");
    expect(await runBerth(third, "move", "in", moved)).toMatchObject({ code: 0, stderr: warning });
    const site = await serveSite([], third);
    await register(site, "dua");
    expect(await site.server.stop()).toBe(0);
  });

  test("makes berth verify fail with hints for the repair, and berth doctor warn", async () => {
    const audited = await makeAuditedFolder();
    const { folder, file } = audited;
    const out = join(tempFolder(), "site.berth");
    await runOrThrow(folder, "backup", out);
    const intact = readFileSync(file);
    damageAuditFile(audited);
    const { code, stderr } = await runBerth(folder, "verify");
    expect(code).toBe(78);
    const [, hint = ""] = /^berth: hint: (.*)$/m.exec(stderr) ?? [];
    expect(hint).not.toContain("accept-loss");
    expect(hint).toContain("berth audit repair");
    const allowed = await runBerth(folder, "verify", "--allow-damaged-audit");
    expect(allowed).toMatchObject({ code: 0, stderr: warning });
    const doctor = await runBerth(folder, "doctor", "--json", "--listen", "127.0.0.1:1");
    const { findings, passed_checks } = JSON.parse(doctor.stdout) as DoctorReply;
    expect(findings.filter(({ code }) => code === "audit_damaged")).toEqual([
      {
        code: "audit_damaged",
        severity: "warning",
        summary: expect.stringContaining(file),
        remedy: hint.replace(/^l/, "L"),
        command: null,
        subject: null,
      },
    ]);
    expect(passed_checks.map(({ check }) => check)).toContain("data");
    // The first command of the hint, run as printed, loses nothing.
    const [command = ""] = /tar xf BACKUP -C '[^']+' history\/\S+/.exec(hint) ?? [];
    expect(Bun.spawnSync(["sh", "-c", command.replace("BACKUP", out)]).exitCode).toBe(0);
    expect(readFileSync(file)).toEqual(intact);
    await runOrThrow(folder, "verify");
  });

  test("is repaired by berth audit repair only if the operator accepts the gap and confirms", async () => {
    const audited = await makeAuditedFolder();
    const { folder, file } = audited;
    damageAuditFile(audited);
    const before = readFileSync(file);
    const refused = await runBerth(folder, "audit", "repair");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^berth: error: the audit log lacks line 2 \(written from /);
    const [, tar, accept] =
      /hint: .*(tar xf BACKUP).*(--accept-gap "REASON")/.exec(refused.stderr) ?? [];
    expect([tar, accept]).toEqual(["tar xf BACKUP", '--accept-gap "REASON"']);
    const args = ["audit", "repair", "--accept-gap", "the disk was replaced"];
    const unconfirmed = await runBerth(folder, ...args);
    expect([unconfirmed.code, unconfirmed.stderr]).toEqual([2, expect.stringContaining("--yes")]);
    expect(readFileSync(file)).toEqual(before);
    expect(readdirSync(join(folder, "history"))).toEqual([basename(file)]);
    const text = await runOrThrow(folder, ...args, "--yes");
    expect(text).toMatch(/^declared lost +line 2, written from \S+Z until \S+Z$/m);
    expect(readFileSync(`${file}.damaged`)).toEqual(before);
    expect(await runOrThrow(folder, "verify")).toMatch(
      /^declared gap +line 2 declared missing \(damaged\) on /m,
    );
    expect(await runOrThrow(folder, "audit", "--type", "AuditGapDeclared")).toContain(
      "audit log line 2 declared missing (damaged): the disk was replaced",
    );
    const exportPath = join(tempFolder(), "audit.jsonl");
    await runOrThrow(folder, "audit", "--out", exportPath);
    expect((await runBinary(["audit", "verify", exportPath])).stdout).toContain("declared gap");
    expect(await runOrThrow(folder, "audit", "repair")).toContain("nothing to repair");
  });

  test("is a warning of the running server from its discovery until the repair", async () => {
    const audited = await makeAuditedFolder();
    const site = await serveSite([], audited.folder);
    damageAuditFile(audited);
    const { folder, file } = audited;
    expect(await warningsOf(site)).toEqual([]);
    const verified = await getAdminJson<VerifyReply>(site, "/verify");
    expect(verified).toMatchObject({ intact: false, finding: expect.stringContaining(file) });
    expect(await warningsOf(site)).toEqual(["audit_damaged"]);
    // Reports have the lines that were counted before the damage.
    const complete = await runOrThrow(folder, "report", "--last", "30d");
    expect(complete).not.toContain("lacks lines");
    // Without them, reports go on, and say what they lack.
    rmSync(join(folder, "usage"), { recursive: true });
    const report = await runOrThrow(folder, "report", "--last", "30d");
    expect(report).toMatch(/^the audit log lacks lines of \d{4}-\d{2}-\d{2}: the figures of/m);
    const html = await runOrThrow(folder, "report", "--last", "30d", "--format", "html");
    expect(html).toContain("Incomplete: the audit log lacks lines of");
    const { storage } = await getAdminJson<StatusReply>(site, "/status");
    const warning = storage.warnings.find(({ code }) => code === "audit_damaged");
    expect(warning?.message).toContain(file);
    expect(warning?.message).toContain("berth audit repair");
    const args = ["audit", "repair", "--accept-gap", "x", "--yes", "--json"];
    const reply = JSON.parse(await runOrThrow(folder, ...args)) as AuditRepairReply;
    expect(reply).toMatchObject({ intact: true, declared_gaps: [{ from_line: 2, to_line: 2 }] });
    expect(await warningsOf(site)).toEqual([]);
    expect(await getAdminJson<VerifyReply>(site, "/verify")).toMatchObject({
      intact: true,
      audit_gaps: [{ reason: "damaged", from_line: 2, to_line: 2 }],
    });
    await register(site, "dua");
    expect(await site.server.stop()).toBe(0);
    await runOrThrow(folder, "verify");
  });
});

test("damage that a command, a backup or a page of the audit log finds is a warning of the server", async () => {
  const audited = await makeAuditedFolder();
  const { folder, file } = audited;
  const site = await serveSite([], folder);
  const intact = readFileSync(file);
  const ways: Readonly<Record<string, () => Promise<unknown>>> = {
    verify: () => runBerth(folder, "verify"),
    backup: () => runBerth(folder, "backup", join(tempFolder(), "site.berth")),
    "backup now": () => runBerth(folder, "backup", "now"),
    "backup of the page": () => fetch(`${site.server.url}/api/admin/v1/backup`, { method: "POST" }),
    "page of the audit log": () => fetch(`${site.server.url}/api/admin/v1/audit?before=3`),
  };
  for (const [name, find] of Object.entries(ways)) {
    damageAuditFile(audited);
    expect([name, await warningsOf(site)]).toEqual([name, []]);
    await find();
    expect([name, await warningsOf(site)]).toEqual([name, ["audit_damaged"]]);
    writeFileSync(file, intact);
    await getAdminJson<VerifyReply>(site, "/verify");
  }
  expect(await warningsOf(site)).toEqual([]);
  expect(await site.server.stop()).toBe(0);
});

describe("the newest audit file", () => {
  test("if missing, is reported at a stop with a hint and no stack trace, and can be repaired", async () => {
    const { folder, file } = await makeAuditedFolder();
    rmSync(file);
    const site = await serveSite([], folder);
    await register(site, "dua");
    expect(await site.server.stop()).toBe(1);
    const stderr = site.server.stderr();
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(stderr).not.toContain("bug in berth");
    expect(stderr).toMatch(/^berth: error: stopped, but state\.json in .* is not up to date: /m);
    expect(stderr).toContain(`${file} has 0 bytes`);
    expect(stderr).toMatch(/^berth: hint: no acknowledged change is lost.*berth audit repair$/m);
    await runOrThrow(folder, "audit", "repair", "--accept-gap", "gone", "--yes");
    await runOrThrow(folder, "verify");
    const again = await serveSite([], folder);
    await register(again, "eve");
    expect(await again.server.stop()).toBe(0);
    await runOrThrow(folder, "verify");
  });

  test("if its last line is missing, is completed from the journal", async () => {
    const { folder, file } = await makeAuditedFolder();
    const intact = readFileSync(file);
    const lines = readLines(file);
    writeFileSync(file, intact.subarray(0, lines.at(-1)?.offset));
    const site = await serveSite([], folder);
    await register(site, "dua");
    expect(await site.server.stop()).toBe(0);
    expect(readFileSync(file).subarray(0, intact.length)).toEqual(intact);
    await runOrThrow(folder, "verify");
  });
});

describe("berth audit seal", () => {
  test("removes a month's file on a running server, and the audit chain continues", async () => {
    const { folder, file } = await makeAuditedFolder();
    const month = basename(file).slice(0, "2026-03".length);
    const site = await serveSite([], folder);
    await register(site, "dua");
    const unconfirmed = await runBerth(folder, "audit", "seal", month);
    expect([unconfirmed.code, unconfirmed.stderr]).toEqual([2, expect.stringContaining("--yes")]);
    const args = ["audit", "seal", month, "--note", "a flood", "--yes", "--json"];
    const reply = JSON.parse(await runOrThrow(folder, ...args)) as AuditSealReply;
    expect(reply).toMatchObject({ removed_files: [basename(file)], gaps: [{ from_line: 1 }] });
    expect(reply.freed_bytes).toBeGreaterThan(1_000);
    expect(existsSync(file)).toBe(false);
    expect(await runOrThrow(folder, "verify")).toContain("declared missing (sealed)");
    await register(site, "eve");
    expect(await site.server.stop()).toBe(0);
    await runOrThrow(folder, "verify");
    const out = join(tempFolder(), "site.berth");
    await runOrThrow(folder, "backup", out);
    expect((await runBerth(join(tempFolder(), "data"), "restore", out)).code).toBe(0);
  });

  test("works on a stopped folder, and refuses a month that is invalid or has no audit lines", async () => {
    const { folder, file } = await makeAuditedFolder();
    const month = basename(file).slice(0, "2026-03".length);
    expect((await runBerth(folder, "audit", "seal", "2026-13", "--yes")).code).toBe(2);
    const empty = await runBerth(folder, "audit", "seal", "1999-01", "--yes");
    expect([empty.code, empty.stderr]).toEqual([1, expect.stringContaining("(audit_month_empty)")]);
    expect(await runOrThrow(folder, "audit", "seal", month, "--yes")).toMatch(
      /^freed +\d+ bytes in 1 file$/m,
    );
    await runOrThrow(folder, "verify");
  });

  test("refuses a damaged month and keeps its lines", async () => {
    const audited = await makeAuditedFolder();
    damageAuditFile(audited);
    const before = readFileSync(audited.file);
    const month = basename(audited.file).slice(0, "2026-03".length);
    const { code, stderr } = await runBerth(audited.folder, "audit", "seal", month, "--yes");
    expect([code, stderr]).toEqual([1, expect.stringContaining("(audit_month_damaged)")]);
    expect(stderr).toContain("berth: hint: repair the audit log with berth audit repair");
    expect(readFileSync(audited.file)).toEqual(before);
  });
});

describe.skipIf(process.platform === "win32")("a confirmation prompt on a terminal", () => {
  test("lets berth audit seal a month after the answer y, and not after n", async () => {
    const { folder, file } = await makeAuditedFolder();
    const month = basename(file).slice(0, "2026-03".length);
    const args = ["audit", "seal", month, "--data", folder];
    const refused = await runWithAnswer(args, "n");
    expect([refused.code, refused.text]).toEqual([1, NOTHING_CHANGED]);
    expect(existsSync(file)).toBe(true);
    const agreed = await runWithAnswer(args, "y");
    expect([agreed.code, agreed.text]).toEqual([0, expect.stringContaining("freed")]);
    expect(existsSync(file)).toBe(false);
  });

  test("lets berth audit repair declare a gap after the answer y, and not after n", async () => {
    const audited = await makeAuditedFolder();
    damageAuditFile(audited);
    const before = readFileSync(audited.file);
    const args = ["audit", "repair", "--accept-gap", "a flood", "--data", audited.folder];
    const refused = await runWithAnswer(args, "n");
    expect([refused.code, refused.text]).toEqual([1, NOTHING_CHANGED]);
    expect(readFileSync(audited.file)).toEqual(before);
    const agreed = await runWithAnswer(args, "y");
    expect([agreed.code, agreed.text]).toEqual([0, expect.stringContaining("declared lost")]);
    await runOrThrow(audited.folder, "verify");
  });
});

const NOTHING_CHANGED = expect.stringContaining("berth: error: nothing was changed");
