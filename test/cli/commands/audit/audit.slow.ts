import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventTypes } from "../../../../src/domain/event-catalogue.ts";
import type { AuditPageReply } from "../../../../src/http/routes/audit/audit-log.ts";
import { Identity } from "../../../../src/operations/appliance/identity.ts";
import { realDisk } from "../../../../src/platform/files/disk.ts";
import { checkpoint } from "../../../../src/store/checkpoint/checkpoint.ts";
import { Store } from "../../../../src/store/store.ts";
import {
  runBerth,
  runJsonOrThrow,
  runOrThrow,
  runProcess,
  startServer,
} from "../../../support/run-berth.ts";
import { writeLongAuditLog } from "../../../support/long-audit-log.ts";
import { VENDOR } from "../../../support/new-site.ts";
import { MONDAY } from "../../../support/scenario.ts";
import { tempFolder } from "../../../support/temp-folder.ts";

const HOSTILE = `<img src=x onerror="alert(1)">`;

interface AuditVerifyOutput {
  readonly lines: number;
  readonly first_line: number;
  readonly last_line: number;
  readonly previous_sum: string | null;
  readonly sum: string;
}

/** Starts a demo and makes calls that leave entries in its audit log. */
async function startUsedDemo() {
  const folder = join(tempFolder(), "data");
  const server = await startServer(["demo", "--data", folder]);
  const post = async (operation: string, fields: object): Promise<void> => {
    expect((await server.post(operation, fields)).status).toBe(200);
  };
  await post("register", { user: HOSTILE, os_hostname: "desk" });
  await post("register", { user: "ada" });
  await post("add_consumption", { user: "ada", consumptions: "4" });
  await post("unregister", { user: "ada" });
  return { folder, server };
}

const ROW = /^(?<at>\S+Z) {2,}(?<what>.+?) {2,}(?<product>\S+) {2,}(?<user>.+?) {2,}(?<peer>\S+)$/;

test("berth audit prints the same for a running server and for its stopped folder", async () => {
  const { folder, server } = await startUsedDemo();
  const command = ["audit", "--data", folder, "--type", "SlotTaken,SlotReleased,ConsumptionAdded"];
  const text = await runOrThrow(command);
  const [header, ...rows] = text.trimEnd().split("\n");
  expect(header).toMatch(/^TIME +EVENT +PRODUCT +USER +ADDRESS$/);
  expect(rows.map((row) => ({ ...ROW.exec(row)?.groups, at: null }))).toEqual([
    { at: null, what: "slot released", product: "DEMO", user: "ada", peer: "127.0.0.1" },
    { at: null, what: "4 consumed, 4 in total", product: "DEMO", user: "ada", peer: "127.0.0.1" },
    expect.objectContaining({ product: "DEMO", user: "ada", peer: "127.0.0.1" }),
    expect.objectContaining({ product: "DEMO", user: HOSTILE, peer: "127.0.0.1" }),
  ]);
  expect((await server.stop()).code).toBe(0);
  expect(await runOrThrow(command)).toBe(text);
});

test("berth audit --json filters by user, text, product, time, license and limit", async () => {
  const { folder } = await startUsedDemo();
  const events = async (...words: string[]) =>
    (await runJsonOrThrow<AuditPageReply>(["audit", "--data", folder, ...words])).events;
  const all = await events();
  expect(all.at(-1)?.type).toBe("Created");
  expect(await events("--limit", "2")).toEqual(all.slice(0, 2));
  expect((await events("--user", HOSTILE)).map(({ user }) => user)).toEqual([HOSTILE]);
  expect(await events("--user", "ada", "--text", "CONSUMED")).toHaveLength(1);
  expect(await events("--product", "none")).toEqual([]);
  const [, second] = all;
  expect((await events("--since", second?.at ?? "")).length).toBeLessThan(all.length);
  expect(await events("--until", "2020-01-01T00:00:00Z")).toEqual([]);
  const license = all.find(({ type }) => type === "SlotTaken")?.license_id;
  expect(await events("--license-id", String(license), "--limit", "1")).toEqual(all.slice(0, 1));
  expect(await runOrThrow(["audit", "--data", folder, "--user", "nobody"])).toBe(
    "no entry of the audit log matches\n",
  );
});

test("berth audit --csv prints the events that --json prints, one record for each", async () => {
  const { folder } = await startUsedDemo();
  const command = ["audit", "--data", folder, "--type", "SlotTaken,SlotReleased"];
  const { events } = await runJsonOrThrow<AuditPageReply>(command);
  const records = (await runOrThrow([...command, "--csv"])).split("\r\n");
  expect(records.at(0)).toMatch(/^seq,event_index,at,type,product,/);
  expect(records.slice(1, -1).map((record) => record.split(",")[2])).toEqual(
    events.map(({ at }) => at),
  );
  expect(events.length).toBe(3);
});

test("berth audit accepts days and durations for --since and --until", async () => {
  const { folder } = await startUsedDemo();
  const events = async (...words: string[]) =>
    (await runJsonOrThrow<AuditPageReply>(["audit", "--data", folder, ...words])).events;
  const all = await events();
  const dayOf = (at: string | undefined): string => (at ?? "").slice(0, 10);
  expect(await events("--since", dayOf(all.at(-1)?.at))).toEqual(all);
  expect(await events("--until", dayOf(all[0]?.at))).toEqual(all);
  expect(await events("--since", "7d")).toEqual(all);
  expect(await events("--until", "7d")).toEqual([]);
  expect(await events("--until", "2020-01-01")).toEqual([]);
  const out = join(tempFolder(), "week.jsonl");
  expect(await runOrThrow(["audit", "--data", folder, "--since", "1w", "--out", out])).toContain(
    "at the beginning of the audit log",
  );
});

test("berth audit shows this machine as the address of a local command", async () => {
  const { folder, server } = await startUsedDemo();
  await runOrThrow(["admin", "token", "--name", "ops", "--data", folder]);
  const command = ["audit", "--data", folder, "--text", "this machine"];
  const [, ...rows] = (await runOrThrow(command)).trimEnd().split("\n");
  expect(rows).toHaveLength(1);
  expect(rows[0]).toMatch(/ops.* {2}this machine$/);
  expect((await server.stop()).code).toBe(0);
  // A command that opens the folder itself is recorded in the same way.
  await runOrThrow(["admin", "token", "--name", "ops2", "--data", folder]);
  expect((await runOrThrow(command)).trimEnd().split("\n")).toHaveLength(3);
  const { events } = await runJsonOrThrow<AuditPageReply>(command);
  expect(events.map(({ type, peer }) => [type, peer])).toEqual([
    ["AccessChanged", "socket"],
    ["AccessChanged", "socket"],
  ]);
});

test("berth audit and berth slots --local show times in the machine's time zone", async () => {
  const { folder } = await startUsedDemo();
  const shown = async (words: string[]): Promise<string> => {
    // The time zone belongs to the process.
    const result = await runProcess([...words, "--data", folder], { env: { TZ: "Asia/Tokyo" } });
    expect([result.code, result.stderr]).toEqual([0, ""]);
    return result.stdout;
  };
  const inTokyo = (text: string): string =>
    text.replaceAll(/\b\d{4}-\S+Z\b/g, (time) => {
      const shifted = new Date(Date.parse(time) + 9 * 3_600_000).toISOString();
      return shifted.replace(time.includes(".") ? "Z" : ".000Z", "+09:00");
    });
  for (const words of [["audit", "--user", "ada"], ["slots"]]) {
    const utc = await shown(words);
    const local = await shown([...words, "--local"]);
    const columns = (text: string): string[][] => text.split("\n").map((row) => row.split(/ {2,}/));
    expect(utc).toMatch(/\d{4}-\d\d-\d\dT\S+Z/);
    expect(columns(local)).toEqual(columns(inTokyo(utc)));
    expect(local).not.toMatch(/\d{4}-\d\d-\d\dT\S+Z/);
  }
  const json = await shown(["slots", "--json", "--local"]);
  expect(json).not.toContain("+09:00");
});

test("berth help audit lists the event types", async () => {
  const help = await runOrThrow(["help", "audit"]);
  for (const type of eventTypes) expect(help).toContain(type);
  for (const line of help.split("\n").slice(-12)) expect(line.length).toBeLessThanOrEqual(100);
  const page = await runOrThrow(["man"]);
  expect(page).toContain("RefusalsCounted");
});

describe("berth audit with wrong flags", () => {
  test.each([
    [["--limit", "0"], 2, "--limit must be a whole number"],
    [["--limit", "many"], 2, "--limit must be a whole number"],
    [
      ["--type", "slottaken"],
      2,
      "unknown event type: slottaken\nberth: hint: did you mean SlotTaken? berth",
    ],
    [
      ["--type", "SlotTaken,Slut"],
      2,
      "unknown event type: Slut\nberth: hint: berth help audit lists the event types",
    ],
    [["--since", "monday"], 2, "--since must be a day, a time or a duration: monday"],
    [["--until", "2026-02-30"], 2, "--until must be a day, a time or a duration: 2026-02-30"],
    [["--since", "x", "--out", "x.jsonl"], 2, "--since must be a day, a time or a duration: x"],
    [["--license-id", "x"], 1, "license id must be a whole number"],
    [["--out", "x.jsonl", "--user", "ada"], 2, "remove --user"],
    [["--csv", "--out", "x.csv"], 2, "--csv and --out cannot be combined"],
  ])("refuses %j with exit code %d", async (words, code, error) => {
    const folder = join(tempFolder(), "data");
    const cwd = tempFolder();
    await (await startServer(["demo", "--data", folder])).stop();
    const result = await runBerth(["audit", "--data", folder, ...words], { cwd });
    expect([result.code, result.stdout]).toEqual([code, ""]);
    expect(result.stderr).toContain(error);
    expect(readdirSync(cwd)).toEqual([]);
  });
});

describe("berth audit --out", () => {
  test("writes the audit log of a running and of a stopped server, and audit verify accepts it", async () => {
    const { folder, server } = await startUsedDemo();
    const out = tempFolder();
    const [first, second] = [join(out, "1.jsonl"), join(out, "2.jsonl")];
    const text = await runOrThrow(["audit", "--data", folder, "--out", first]);
    expect(text).toContain("at the beginning of the audit log");
    await server.stop();
    const facts = await runJsonOrThrow<AuditVerifyOutput>([
      "audit",
      "--data",
      folder,
      "--out",
      second,
    ]);
    expect(facts).toMatchObject({ ok: true, path: second, first_line: 1, previous_sum: null });
    expect(readFileSync(second, "utf8")).toStartWith(readFileSync(first, "utf8"));
    expect(await runJsonOrThrow<AuditVerifyOutput>(["audit", "verify", second])).toEqual(facts);
    const { audit_seq, audit_sum } = await runJsonOrThrow<{ audit_seq: number; audit_sum: string }>(
      ["verify", "--data", folder],
    );
    expect([facts.last_line, facts.sum]).toEqual([audit_seq, audit_sum]);
    expect(readdirSync(out).toSorted()).toEqual(["1.jsonl", "2.jsonl"]);
  });

  test("never overwrites a file, and leaves no file when it fails", async () => {
    const { folder } = await startUsedDemo();
    const out = tempFolder();
    const path = join(out, "letter.txt");
    writeFileSync(path, "dear ada");
    const over = await runBerth(["audit", "--data", folder, "--out", path]);
    expect([over.code, over.stdout]).toEqual([1, ""]);
    expect(over.stderr).toContain("letter.txt already exists");
    expect(readFileSync(path, "utf8")).toBe("dear ada");
    const future = ["--since", "2100-01-01T00:00:00Z"];
    const none = await runBerth(["audit", "--data", folder, "--out", join(out, "x"), ...future]);
    expect(none.code).toBe(1);
    expect(none.stderr).toContain("contains no line of an audit log");
    expect(readdirSync(out)).toEqual(["letter.txt"]);
    expect(existsSync(join(out, "x"))).toBe(false);
  });

  test("fails and leaves no file when the audit log has a gap, with and without a server", async () => {
    const folder = join(tempFolder(), "data");
    mkdirSync(folder, { mode: 0o700 });
    const identity = new Identity(realDisk, folder, [{ kind: "named", value: "desk" }]);
    await writeLongAuditLog(folder, 50_000, 0, await identity.create());
    const [, middle] = readdirSync(join(folder, "history")).toSorted();
    const path = join(folder, "history", middle ?? "");
    const lines = readFileSync(path, "utf8").split(/(?<=\n)/);
    writeFileSync(path, lines.toSpliced(4_000, 1).join(""));
    const out = tempFolder();
    const site = ["--data", folder, "--identity", "desk"];
    const exportLog = () => runBerth(["audit", ...site, "--out", join(out, "x")]);
    const withoutServer = await exportLog();
    const server = await startServer(["serve", ...site]);
    const withServer = await exportLog();
    await server.stop();
    for (const { code, stdout, stderr } of [withoutServer, withServer]) {
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toContain("berth: error: the server's response was interrupted\n");
    }
    expect(readdirSync(out)).toEqual([]);
  });

  test("writes a file in which audit verify names a changed and a removed line", async () => {
    const { folder } = await startUsedDemo();
    const path = join(tempFolder(), "audit.jsonl");
    await runOrThrow(["audit", "--data", folder, "--out", path]);
    const lines = readFileSync(path, "utf8").split("\n");
    const index = lines.findIndex((line) => line.includes("ConsumptionAdded"));
    const changed = lines[index]?.replace('"count":4', '"count":1') ?? "";
    writeFileSync(path, lines.with(index, changed).join("\n"));
    const rewritten = await runBerth(["audit", "verify", path]);
    expect([rewritten.code, rewritten.stdout]).toEqual([1, ""]);
    expect(rewritten.stderr).toContain(
      `audit.jsonl: line ${index + 1} was changed after it was written`,
    );
    writeFileSync(path, lines.toSpliced(index, 1).join("\n"));
    const removed = await runBerth(["audit", "verify", path]);
    expect(removed.code).toBe(1);
    expect(removed.stderr).toContain(`audit.jsonl: line ${index + 1} is line ${index + 2} of`);
  });
});

test("berth audit escapes control characters and prints one line for each entry", async () => {
  const folder = join(tempFolder(), "data");
  const identity = new Identity(realDisk, folder, [{ kind: "named", value: "desk" }]);
  const store = await Store.open({
    disk: realDisk,
    folder,
    kind: "site",
    create: true,
    clock: () => MONDAY,
    identify: () => identity.create(),
    checkpoint: (of, open) => checkpoint(realDisk, of, open),
    onFatal() {},
  });
  // Every route refuses such a name, but a folder written by another version may contain one.
  const name = "\u001b[2J\u202eevil\nline\u0007";
  const trust = { ...VENDOR, name, version: 2, document: "trust 2" };
  const peer = "10.0.0.9";
  await store.transact({ type: "TrustVendor", trust, peer }, () => null);
  // No command opens a folder that trusts a vendor without a signed document.
  await store.transact({ type: "DistrustVendor", vendor: trust.vendor, peer }, () => null);
  await store.close();
  const command = ["audit", "--data", folder, "--identity", "desk", "--limit", "2"];
  const text = await runOrThrow(command);
  expect(text.split("\n")).toHaveLength(4);
  expect(text).toContain("vendor \\u001b[2J\\u202eevil line\\u0007 trusted for");
  const { events } = await runJsonOrThrow<AuditPageReply>(command);
  expect(events.map(({ detail }) => detail["name"])).toContain(name);
});
