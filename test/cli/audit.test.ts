import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventTypes } from "../../src/domain/event-summary.ts";
import type { AuditPageReply } from "../../src/http/routes/audit-log.ts";
import { Identity } from "../../src/operations/identity.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import { Store } from "../../src/store/store.ts";
import { runBerth, runOrThrow, runJsonOrThrow, startServer } from "../support/run-berth.ts";
import { writeLongAuditLog } from "../support/long-audit-log.ts";
import { VENDOR } from "../support/new-site.ts";
import { MONDAY } from "../support/scenario.ts";
import { tempFolder } from "../support/temp-folder.ts";

const HOSTILE = `<img src=x onerror="alert(1)">`;

interface AuditVerifyOutput {
  readonly lines: number;
  readonly first_line: number;
  readonly last_line: number;
  readonly previous_sum: string | null;
  readonly sum: string;
}

/** A demo in which something happened; what is asked of it is asked again when it has stopped. */
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

test("berth audit tells what happened, of a running server and of a folder, the same", async () => {
  const { folder, server } = await startUsedDemo();
  const asked = ["audit", "--data", folder, "--type", "SlotTaken,SlotReleased,ConsumptionAdded"];
  const text = await runOrThrow(asked);
  const [header, ...rows] = text.trimEnd().split("\n");
  expect(header).toMatch(/^TIME +EVENT +PRODUCT +USER +ADDRESS$/);
  expect(rows.map((row) => ({ ...ROW.exec(row)?.groups, at: null }))).toEqual([
    { at: null, what: "slot released", product: "DEMO", user: "ada", peer: "127.0.0.1" },
    { at: null, what: "4 consumed, 4 in total", product: "DEMO", user: "ada", peer: "127.0.0.1" },
    expect.objectContaining({ product: "DEMO", user: "ada", peer: "127.0.0.1" }),
    expect.objectContaining({ product: "DEMO", user: HOSTILE, peer: "127.0.0.1" }),
  ]);
  expect((await server.stop()).code).toBe(0);
  expect(await runOrThrow(asked)).toBe(text);
});

test("berth audit takes the filters, and --json what the server says", async () => {
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

test("berth audit takes days and spans for --since and --until", async () => {
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

test("berth audit says this machine of what was done on the machine itself", async () => {
  const { folder, server } = await startUsedDemo();
  await runOrThrow(["admin", "token", "--name", "ops", "--data", folder]);
  const asked = ["audit", "--data", folder, "--text", "this machine"];
  const [, ...rows] = (await runOrThrow(asked)).trimEnd().split("\n");
  expect(rows).toHaveLength(1);
  expect(rows[0]).toMatch(/ops.* {2}this machine$/);
  expect((await server.stop()).code).toBe(0);
  // The same for a command that opened the folder itself.
  await runOrThrow(["admin", "token", "--name", "ops2", "--data", folder]);
  expect((await runOrThrow(asked)).trimEnd().split("\n")).toHaveLength(3);
  const { events } = await runJsonOrThrow<AuditPageReply>(asked);
  expect(events.map(({ type, peer }) => [type, peer])).toEqual([
    ["AccessChanged", "socket"],
    ["AccessChanged", "socket"],
  ]);
});

test("--local shows the times of record and slots in the machine's time zone", async () => {
  const { folder } = await startUsedDemo();
  const shown = (words: string[]) =>
    runOrThrow([...words, "--data", folder], { env: { TZ: "Asia/Tokyo" } });
  const inTokyo = (text: string): string =>
    text.replaceAll(/\b\d{4}-\S+Z\b/g, (time) => {
      const moved = new Date(Date.parse(time) + 9 * 3_600_000).toISOString();
      return moved.replace(time.includes(".") ? "Z" : ".000Z", "+09:00");
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

describe("what is wrong is said", () => {
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
    [["--license-id", "x"], 1, "license_id must be a whole number"],
    [["--out", "x.jsonl", "--user", "ada"], 2, "remove --user"],
  ])("%p", async (words, code, error) => {
    const folder = join(tempFolder(), "data");
    const cwd = tempFolder();
    await (await startServer(["demo", "--data", folder])).stop();
    const said = await runBerth(["audit", "--data", folder, ...words], { cwd });
    expect([said.code, said.stdout]).toEqual([code, ""]);
    expect(said.stderr).toContain(error);
    expect(readdirSync(cwd)).toEqual([]);
  });
});

describe("--out", () => {
  test("writes the record as it stands, running or not, and berth audit verify follows it", async () => {
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

  test("never writes over a file, and leaves nothing behind when it is refused", async () => {
    const { folder } = await startUsedDemo();
    const out = tempFolder();
    const path = join(out, "letter.txt");
    writeFileSync(path, "dear ada");
    const over = await runBerth(["audit", "--data", folder, "--out", path]);
    expect([over.code, over.stdout]).toEqual([1, ""]);
    expect(over.stderr).toContain("letter.txt already exists");
    expect(readFileSync(path, "utf8")).toBe("dear ada");
    const late = ["--since", "2100-01-01T00:00:00Z"];
    const none = await runBerth(["audit", "--data", folder, "--out", join(out, "x"), ...late]);
    expect(none.code).toBe(1);
    expect(none.stderr).toContain("contains no line of an audit log");
    expect(readdirSync(out)).toEqual(["letter.txt"]);
    expect(existsSync(join(out, "x"))).toBe(false);
  });

  test("of a record with a gap is cut off and leaves no file, with a server and without", async () => {
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
    const exporting = () => runBerth(["audit", ...site, "--out", join(out, "x")]);
    const alone = await exporting();
    const server = await startServer(["serve", ...site]);
    const beside = await exporting();
    await server.stop();
    for (const { code, stdout, stderr } of [alone, beside]) {
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toContain("berth: error: the server's response was interrupted\n");
    }
    expect(readdirSync(out)).toEqual([]);
  });

  test("of a line that was rewritten is refused with its number", async () => {
    const { folder } = await startUsedDemo();
    const path = join(tempFolder(), "record.jsonl");
    await runOrThrow(["audit", "--data", folder, "--out", path]);
    const lines = readFileSync(path, "utf8").split("\n");
    const place = lines.findIndex((line) => line.includes("ConsumptionAdded"));
    const changed = lines[place]?.replace('"count":4', '"count":1') ?? "";
    writeFileSync(path, lines.with(place, changed).join("\n"));
    const rewritten = await runBerth(["audit", "verify", path]);
    expect([rewritten.code, rewritten.stdout]).toEqual([1, ""]);
    expect(rewritten.stderr).toContain(
      `record.jsonl: line ${place + 1} was changed after it was written`,
    );
    writeFileSync(path, lines.toSpliced(place, 1).join("\n"));
    const removed = await runBerth(["audit", "verify", path]);
    expect(removed.code).toBe(1);
    expect(removed.stderr).toContain(`record.jsonl: line ${place + 1} is line ${place + 2} of`);
  });
});

test("what would move the cursor is shown as what it is, on one line", async () => {
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
  // No route lets such a name in; a folder of another Berth may have one.
  const name = "\u001b[2J\u202eevil\nline\u0007";
  const trusted = { ...VENDOR, name };
  await store.transact({ type: "TrustVendor", vendor: trusted, peer: "10.0.0.9" }, () => null);
  await store.close();
  const asked = ["audit", "--data", folder, "--identity", "desk", "--limit", "1"];
  const text = await runOrThrow(asked);
  expect(text.split("\n")).toHaveLength(3);
  expect(text).toContain("vendor \\u001b[2J\\u202eevil line\\u0007 trusted for");
  const { events } = await runJsonOrThrow<AuditPageReply>(asked);
  expect(events[0]?.detail["name"]).toBe(name);
});
