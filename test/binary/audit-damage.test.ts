// The real executable on a folder whose audit log is damaged, or has months to be let go.
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { AuditRepairReply, AuditSealReply } from "../../src/http/routes/audit-maintenance.ts";
import type { DoctorReply, VerifyReply } from "../../src/http/running-server.ts";
import type { StatusReply } from "../../src/http/status.ts";
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

/** One bit of the second line, which no journal has any more. */
function damageAuditFile({ file }: AuditedFolder): void {
  flipBit(file, (readLines(file)[1]?.offset ?? 0) + 99);
}

const runBerth = (folder: string, ...words: string[]): Promise<CommandResult> =>
  runBinary([...words, "--data", folder]);

const runOrThrow = async (folder: string, ...words: string[]): Promise<string> => {
  const said = await runBerth(folder, ...words);
  expect([words, said.code, said.stderr]).toEqual([words, 0, said.stderr]);
  return said.stdout;
};

/** What health tells of; that the disk of this machine is slow just now does not count. */
async function warningsOf({ server }: ServedSite): Promise<string[]> {
  const health = (await (await fetch(`${server.url}/api/v4/health`)).json()) as {
    readonly warnings?: readonly string[];
  };
  return (health.warnings ?? []).filter((trouble) => trouble !== "disk_slow");
}

const warning = expect.stringMatching(
  /^berth: warning: the audit log in .* is not whole \(line 2 missing; damaged: .*\.jsonl\)/m,
);

describe("a changed byte in the audit log", () => {
  test("leaves backup, restore and move possible, with a warning", async () => {
    const lived = await makeAuditedFolder();
    const { folder } = lived;
    damageAuditFile(lived);
    const out = join(tempFolder(), "site.berth");
    expect(await runBerth(folder, "backup", out)).toMatchObject({ code: 0, stderr: warning });
    expect(await runBinary(["verify", out])).toMatchObject({ code: 0, stderr: warning });
    const facts = JSON.parse((await runBinary(["verify", out, "--json"])).stdout) as object;
    expect(facts).toMatchObject({
      ok: true,
      audit_damage: { missing: [{ from_line: 2, to_line: 2 }], files: [basename(lived.file)] },
    });
    const other = join(tempFolder(), "data");
    expect(await runBerth(other, "restore", out)).toMatchObject({ code: 0, stderr: warning });
    const moved = join(tempFolder(), "site.move");
    const left = await runBerth(folder, "move", "out", moved, "--yes");
    expect(left).toMatchObject({ code: 0, stderr: warning });
    const third = join(tempFolder(), "data");
    expect(await runBerth(third, "move", "in", moved)).toMatchObject({ code: 0, stderr: warning });
    const site = await serveSite([], third);
    await register(site, "dua");
    expect(await site.server.stop()).toBe(0);
  });

  test("is refused by verify, which names the ways to mend it, and a warning to doctor", async () => {
    const lived = await makeAuditedFolder();
    const { folder, file } = lived;
    const out = join(tempFolder(), "site.berth");
    await runOrThrow(folder, "backup", out);
    const whole = readFileSync(file);
    damageAuditFile(lived);
    const { code, stderr } = await runBerth(folder, "verify");
    expect(code).toBe(78);
    const [, hint = ""] = /^berth: hint: (.*)$/m.exec(stderr) ?? [];
    expect(hint).not.toContain("accept-loss");
    expect(hint).toContain("berth audit repair");
    const allowed = await runBerth(folder, "verify", "--allow-damaged-audit");
    expect(allowed).toMatchObject({ code: 0, stderr: warning });
    const doctor = await runBerth(folder, "doctor", "--json", "--listen", "127.0.0.1:1");
    const { findings } = JSON.parse(doctor.stdout) as DoctorReply;
    expect(findings.filter(({ check }) => check === "audit log")).toEqual([
      {
        check: "audit log",
        level: "warning",
        finding: expect.stringContaining(file),
        remedy: hint,
      },
    ]);
    expect(findings.find(({ check }) => check === "data")?.level).toBe("ok");
    // The first way, as it is printed, loses nothing.
    const [command = ""] = /tar xf BACKUP -C '[^']+' history\/\S+/.exec(hint) ?? [];
    expect(Bun.spawnSync(["sh", "-c", command.replace("BACKUP", out)]).exitCode).toBe(0);
    expect(readFileSync(file)).toEqual(whole);
    await runOrThrow(folder, "verify");
  });

  test("is mended by a repair only where somebody accepts the gap and says so", async () => {
    const lived = await makeAuditedFolder();
    const { folder, file } = lived;
    damageAuditFile(lived);
    const before = readFileSync(file);
    const refused = await runBerth(folder, "audit", "repair");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^berth: error: the audit log lacks line 2 \(written from /);
    const [, tar, accept] =
      /hint: .*(tar xf BACKUP).*(--accept-gap "REASON")/.exec(refused.stderr) ?? [];
    expect([tar, accept]).toEqual(["tar xf BACKUP", '--accept-gap "REASON"']);
    const words = ["audit", "repair", "--accept-gap", "the disk was replaced"];
    const unasked = await runBerth(folder, ...words);
    expect([unasked.code, unasked.stderr]).toEqual([2, expect.stringContaining("--yes")]);
    expect(readFileSync(file)).toEqual(before);
    expect(readdirSync(join(folder, "history"))).toEqual([basename(file)]);
    const text = await runOrThrow(folder, ...words, "--yes");
    expect(text).toMatch(/^declared lost +line 2, written from \S+Z until \S+Z$/m);
    expect(readFileSync(`${file}.damaged`)).toEqual(before);
    expect(await runOrThrow(folder, "verify")).toMatch(
      /^declared gap +line 2 declared missing \(damaged\) on /m,
    );
    expect(await runOrThrow(folder, "audit", "--type", "AuditGapDeclared")).toContain(
      "audit log line 2 declared missing (damaged): the disk was replaced",
    );
    const taken = join(tempFolder(), "record.jsonl");
    await runOrThrow(folder, "audit", "--out", taken);
    expect((await runBinary(["audit", "verify", taken])).stdout).toContain("declared gap");
    expect(await runOrThrow(folder, "audit", "repair")).toContain("nothing to repair");
  });

  test("is a warning of a running server once it was found, until it is mended", async () => {
    const lived = await makeAuditedFolder();
    const site = await serveSite([], lived.folder);
    damageAuditFile(lived);
    const { folder, file } = lived;
    expect(await warningsOf(site)).toEqual([]);
    const found = await getAdminJson<VerifyReply>(site, "/verify");
    expect(found).toMatchObject({ intact: false, finding: expect.stringContaining(file) });
    expect(await warningsOf(site)).toEqual(["audit_damaged"]);
    const { storage } = await getAdminJson<StatusReply>(site, "/status");
    const warning = storage.warnings.find(({ code }) => code === "audit_damaged");
    expect(warning?.message).toContain(file);
    expect(warning?.message).toContain("berth audit repair");
    const words = ["audit", "repair", "--accept-gap", "x", "--yes", "--json"];
    const reply = JSON.parse(await runOrThrow(folder, ...words)) as AuditRepairReply;
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

describe("a newest audit file that is gone", () => {
  test("is told at a stop with what to do and no stack trace, and mended by a repair", async () => {
    const { folder, file } = await makeAuditedFolder();
    rmSync(file);
    const site = await serveSite([], folder);
    await register(site, "dua");
    expect(await site.server.stop()).toBe(1);
    const said = site.server.stderr();
    expect(said).not.toMatch(/^\s+at /m);
    expect(said).not.toContain("bug in berth");
    expect(said).toMatch(/^berth: error: stopped, but state\.json in .* is not up to date: /m);
    expect(said).toContain(`${file} has 0 bytes`);
    expect(said).toMatch(/^berth: hint: no acknowledged change is lost.*berth audit repair$/m);
    await runOrThrow(folder, "audit", "repair", "--accept-gap", "gone", "--yes");
    await runOrThrow(folder, "verify");
    const again = await serveSite([], folder);
    await register(again, "eve");
    expect(await again.server.stop()).toBe(0);
    await runOrThrow(folder, "verify");
  });

  test("comes back from the journal as far as that reaches", async () => {
    const { folder, file } = await makeAuditedFolder();
    const whole = readFileSync(file);
    const lines = readLines(file);
    writeFileSync(file, whole.subarray(0, lines.at(-1)?.offset));
    const site = await serveSite([], folder);
    await register(site, "dua");
    expect(await site.server.stop()).toBe(0);
    expect(readFileSync(file).subarray(0, whole.length)).toEqual(whole);
    await runOrThrow(folder, "verify");
  });
});

describe("sealing a month", () => {
  test("frees its bytes on a running server, and the chain goes on", async () => {
    const { folder, file } = await makeAuditedFolder();
    const month = basename(file).slice(0, "2026-03".length);
    const site = await serveSite([], folder);
    await register(site, "dua");
    const unasked = await runBerth(folder, "audit", "seal", month);
    expect([unasked.code, unasked.stderr]).toEqual([2, expect.stringContaining("--yes")]);
    const words = ["audit", "seal", month, "--note", "a flood", "--yes", "--json"];
    const reply = JSON.parse(await runOrThrow(folder, ...words)) as AuditSealReply;
    expect(reply).toMatchObject({ removed: [basename(file)], gaps: [{ from_line: 1 }] });
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

  test("is done on a stopped folder too, and refused where there is nothing to seal", async () => {
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

  test("is refused for a month that is damaged, and its lines stay", async () => {
    const lived = await makeAuditedFolder();
    damageAuditFile(lived);
    const before = readFileSync(lived.file);
    const month = basename(lived.file).slice(0, "2026-03".length);
    const { code, stderr } = await runBerth(lived.folder, "audit", "seal", month, "--yes");
    expect([code, stderr]).toEqual([1, expect.stringContaining("(audit_month_damaged)")]);
    expect(stderr).toContain("berth: hint: berth audit repair");
    expect(readFileSync(lived.file)).toEqual(before);
  });
});

describe.skipIf(process.platform === "win32")("on a terminal", () => {
  test("berth audit seal is done after a yes, and not after a no", async () => {
    const { folder, file } = await makeAuditedFolder();
    const month = basename(file).slice(0, "2026-03".length);
    const words = ["audit", "seal", month, "--data", folder];
    const refused = await runWithAnswer(words, "n");
    expect([refused.code, refused.text]).toEqual([1, NOTHING_CHANGED]);
    expect(existsSync(file)).toBe(true);
    const agreed = await runWithAnswer(words, "y");
    expect([agreed.code, agreed.text]).toEqual([0, expect.stringContaining("freed")]);
    expect(existsSync(file)).toBe(false);
  });

  test("berth audit repair declares a gap after a yes, and not after a no", async () => {
    const lived = await makeAuditedFolder();
    damageAuditFile(lived);
    const before = readFileSync(lived.file);
    const words = ["audit", "repair", "--accept-gap", "a flood", "--data", lived.folder];
    const refused = await runWithAnswer(words, "n");
    expect([refused.code, refused.text]).toEqual([1, NOTHING_CHANGED]);
    expect(readFileSync(lived.file)).toEqual(before);
    const agreed = await runWithAnswer(words, "y");
    expect([agreed.code, agreed.text]).toEqual([0, expect.stringContaining("declared lost")]);
    await runOrThrow(lived.folder, "verify");
  });
});

const NOTHING_CHANGED = expect.stringContaining("berth: error: nothing was changed");
