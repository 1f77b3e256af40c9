import { describe, expect, onTestFinished, spyOn, test } from "bun:test";
import { sentFieldsOf } from "../../../../src/domain/model/slots/contact.ts";
import { makeContact } from "../../../support/contact.ts";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Event } from "../../../../src/domain/model/event.ts";
import { HOUR, later } from "../../../../src/domain/time.ts";
import {
  auditEntryReply,
  type AuditEntryReply,
} from "../../../../src/http/routes/audit/audit-entry.ts";
import type { AuditPageReply } from "../../../../src/http/routes/audit/audit-log.ts";
import { Identity } from "../../../../src/operations/appliance/identity.ts";
import { realDisk } from "../../../../src/platform/files/disk.ts";
import { log } from "../../../../src/platform/log.ts";
import { checkAuditExport } from "../../../../src/operations/audit/audit-export-check.ts";
import { listAuditFiles } from "../../../../src/store/audit/audit-log.ts";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";
import { countTurns } from "../../../support/event-loop.ts";
import { useShortSteps } from "../../../support/short-steps.ts";
import { readLines, readJournal } from "../../../support/licensed-store.ts";
import { writeLongAuditLog } from "../../../support/long-audit-log.ts";
import { MONDAY } from "../../../support/scenario.ts";
import { tempFolder } from "../../../support/temp-folder.ts";

const AUDIT = "/api/admin/v1/audit";
const EXPORT = `${AUDIT}/export`;

const readPage = async (site: Appliance, query = ""): Promise<AuditPageReply> =>
  expectOk(await site.get<AuditPageReply>(`${AUDIT}${query}`));

const readEvents = async (site: Appliance, query = ""): Promise<AuditEntryReply[]> =>
  (await readPage(site, query)).events;

const HOSTILE = `<img src=x onerror="alert('1')"> & $(reboot) %00 __proto__`;

async function openUsedSite(): Promise<Appliance> {
  const site = await openAppliance();
  expectOk(await site.register({ user: "ada", os_hostname: "Desk-7", user_info: "two\nlines" }));
  expectOk(await site.borrow({ user: "bob" }, { "idempotency-key": "once" }));
  site.clock.now = later(MONDAY, 20 * HOUR);
  expectOk(await site.addConsumption({ user: "bob", consumptions: "3" }));
  expectOk(await site.unregister({ user: "bob" }));
  return site;
}

test("an entry for an event of a newer version says so, and shows nothing that it cannot read", () => {
  const text = `{"type":"SlotLent","at":${MONDAY},"license":{"id":1},"user":["ada"],"peer":7}`;
  const event = JSON.parse(text) as Event;
  expect(auditEntryReply({ seq: 9, part: 0, event, product: null })).toEqual({
    seq: 9,
    event_index: 0,
    at: "2026-03-02T09:00:00.000Z",
    type: "SlotLent",
    product: null,
    license_id: null,
    user: null,
    peer: null,
    summary: "unknown event from a newer version of berth: SlotLent",
    detail: {},
  });
});

describe("the audit log", () => {
  test("lists events with their product and user, newest first", async () => {
    const site = await openUsedSite();
    const { events, next, scanned_until } = await readPage(site);
    expect(next).toBeNull();
    expect(scanned_until).toBe("2026-03-02T09:00:00.000Z");
    expect(events.map(({ type }) => type)).toEqual([
      "SlotReleased",
      "ConsumptionAdded",
      // Ada's slot, which ran out at 09:30 without a heartbeat.
      "SlotExpired",
      "KeyRemembered",
      "SlotBorrowed",
      "SlotTaken",
      "SlotTaken",
      "LicenseInstalled",
      "RequestMade",
      "VendorTrusted",
      "Created",
    ]);
    const downloads = events.findLast(({ type }) => type === "SlotTaken");
    expect(downloads).toEqual({
      seq: expect.any(Number),
      event_index: 0,
      at: "2026-03-02T09:00:00.000Z",
      type: "SlotTaken",
      product: "cad",
      license_id: 1,
      user: "ada",
      peer: "127.0.0.1",
      summary: "slot taken until 2026-03-02T09:30:00Z",
      detail: {
        slot: 1,
        expires_at: "2026-03-02T09:30:00.000Z",
        ...sentFieldsOf(makeContact({ hostname: "Desk-7", info: "two\nlines" })),
      },
    });
    const expired = events.find(({ type }) => type === "SlotExpired");
    expect(expired?.at).toBe("2026-03-02T09:30:00.000Z");
  });

  test("has one entry for a slot used from another machine, without user_info", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada", os_hostname: "desk" }));
    for (const user_info of ["docked", "on the train"]) {
      expectOk(await site.register({ user: "ada", os_hostname: "laptop", user_info }));
      expectOk(await site.register({ user: "ada", os_hostname: "desk", user_info }));
    }
    const changes = await readEvents(site, "?type=ContactChanged");
    expect(changes).toMatchObject([
      { user: "ada", product: "cad", peer: "127.0.0.1", summary: "slot used from laptop" },
    ]);
    expect(changes[0]?.detail).toEqual({ slot: 1, os_hostname: "laptop", ip_local: "" });
    expect(await readEvents(site, "?text=train")).toEqual([]);
  });

  test.each([
    ["limit=2", ["SlotReleased", "ConsumptionAdded"]],
    ["type=SlotTaken&user=ada", ["SlotTaken"]],
    ["type=SlotTaken,%20SlotBorrowed", ["SlotBorrowed", "SlotTaken", "SlotTaken"]],
    ["user=ada", ["SlotExpired", "SlotTaken"]],
    ["user=Ada", []],
    ["product=cad&type=LicenseInstalled", ["LicenseInstalled"]],
    ["product=none", []],
    ["license_id=1&user=bob&limit=1", ["SlotReleased"]],
    ["license_id=2", []],
    ["since=2026-03-02T09:30:00Z", ["SlotReleased", "ConsumptionAdded", "SlotExpired"]],
    ["since=2026-03-02T09:30:00Z&until=2026-03-02T10:30:00%2B01:00", ["SlotExpired"]],
    ["until=2026-03-01T00:00:00Z", []],
    ["text=dEsK-7", ["SlotTaken"]],
    ["text=two%0Alines", ["SlotTaken"]],
    ["text=3%20consumed", ["ConsumptionAdded"]],
    ["USER=ada&Type=SlotTaken", ["SlotTaken"]],
    ["limit=&type=&user=&since=&before=&text=nothing%20like%20it", []],
  ])("lists the matching events for ?%s", async (query, types) => {
    const events = await readEvents(await openUsedSite(), `?${query}`);
    expect(events.map(({ type }) => type)).toEqual(types);
  });

  test("continues on the next page where the previous page ended", async () => {
    const site = await openUsedSite();
    const all = await readEvents(site);
    const collected: AuditEntryReply[] = [];
    for (let next: string | null = ""; next !== null;) {
      const page: AuditPageReply = await readPage(site, `?limit=3&before=${next}`);
      collected.push(...page.events);
      next = page.next;
    }
    expect(collected).toEqual(all);
    expect(await readEvents(site, `?before=${all[1]?.seq}`)).toEqual(all.slice(2));
    expect(await readEvents(site, "?before=9007199254740991")).toEqual(all);
  });

  test("names the product of events of a removed license", async () => {
    const site = await openUsedSite();
    expectOk(await site.post("/api/admin/v1/licenses/remove", { license_id: "1" }));
    const events = await readEvents(site, "?license_id=1");
    expect(events.length).toBeGreaterThan(5);
    expect(new Set(events.map(({ product }) => product))).toEqual(new Set(["cad"]));
  });

  test("returns hostile user names, host names and texts unchanged", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: HOSTILE, os_hostname: HOSTILE, user_info: HOSTILE }));
    const [event] = await readEvents(site, `?user=${encodeURIComponent(HOSTILE)}`);
    expect(event?.user).toBe(HOSTILE);
    expect(event?.detail).toMatchObject({ os_hostname: HOSTILE, user_info: HOSTILE });
    expect(await readEvents(site, "?text=ONERROR")).toHaveLength(1);
  });

  test("shows no nonce, code, document or key that could still be used", async () => {
    const site = await openAppliance();
    expectOk(await site.post("airgap/generate", { license_key: "K", signing_key: "" }));
    expectOk(await site.post("setKeys", { apiKey: "s3cr3t-api", sharedKey: "s3cr3t-shared" }));
    expectOk(await site.post("/api/admin/v1/clock/request", {}));
    expectOk(await site.register({ user: "ada" }));
    const text = JSON.stringify(await readPage(site));
    const events = readJournal(site.folder).flatMap(({ line }) => line.events);
    const secrets = events.flatMap((event) => {
      if (event.type === "RequestMade") return [event.request.nonce];
      if (event.type === "ActivationMade") return [event.activation.nonce];
      if (event.type === "LicenseInstalled") return [event.grant.document, event.grant.lic];
      return event.type === "ClockAsked" ? [event.nonce] : [];
    });
    expect(secrets.length).toBeGreaterThan(4);
    for (const secret of [...secrets, "s3cr3t"]) expect(text).not.toContain(secret);
  });

  test.each([
    ["before=0", "invalid_parameter"],
    ["before=-1", "invalid_parameter"],
    ["before=1.2.3.4", "invalid_parameter"],
    ["before=newest", "invalid_parameter"],
    ["limit=0", "invalid_number"],
    ["limit=501", "invalid_number"],
    ["limit=1e2", "invalid_number"],
    ["type=SlotTaken,constructor", "invalid_parameter"],
    ["type=,", "invalid_parameter"],
    ["license_id=one", "invalid_number"],
    ["since=yesterday", "invalid_timestamp"],
    ["until=2026-02-30T00:00:00Z", "invalid_timestamp"],
    ["user=a%00b", "invalid_characters"],
    ["text=%E2%80%AE", "invalid_characters"],
    [`product=${"x".repeat(257)}`, "too_long"],
  ])("refuses the query ?%s", async (query, code) => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 400, code, () => site.get(`${AUDIT}?${query}`));
  });

  test("that is damaged is refused with the line number, and can be read on from before it", async () => {
    const site = await openUsedSite();
    await site.stop();
    // The journal of the previous run is kept too, and a line that it has is not lost. After a
    // second restart the line is in the audit log file only.
    await (await openAppliance({ folder: site.folder, licenses: { 2: {} } })).stop();
    const again = await openAppliance({ folder: site.folder, licenses: {} });
    const [file] = readdirSync(join(site.folder, "history"));
    const path = join(site.folder, "history", file ?? "");
    const lines = readLines(path);
    writeFileSync(
      path,
      Buffer.concat(lines.filter((_, index) => index !== 2).map(({ raw }) => raw)),
    );
    const { next } = await readPage(again);
    const message = expectRefusal(
      await again.get(`${AUDIT}?before=${next}`),
      503,
      "audit_log_damaged",
    );
    expect(message).toContain("line 3 ");
    expect((await readPage(again, "?before=3")).events.map(({ seq }) => seq)).toEqual([2, 1]);
  });
});

describe("the export of the audit log", () => {
  async function longSite(): Promise<Appliance> {
    const folder = tempFolder();
    await writeLongAuditLog(folder, 20_000, 0, await new Identity(realDisk, folder, []).create());
    return openAppliance({ folder, licenses: {} });
  }

  /** The streamed reply, which `site.get` would read to its end. */
  const requestExport = (site: Appliance): Promise<Response> =>
    site.app.handle(new Request(`http://appliance${EXPORT}`, { headers: { host: "appliance" } }));

  const readAuditLines = (folder: string): string =>
    [
      ...listAuditFiles(realDisk, folder).flatMap(({ path }) => readLines(path)),
      ...readJournal(folder).filter(({ line }) => line.audit_seq !== undefined),
    ]
      .map(({ raw }) => raw.toString())
      .filter((text, index, all) => all.indexOf(text) === index)
      .join("");

  test("has every line byte for byte, a file name with appliance and date, and an intact hash chain", async () => {
    const site = await openUsedSite();
    const [response, text] = await site.get<string>(EXPORT);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/x-ndjson");
    expect(response.headers.get("content-disposition")).toMatch(
      /^attachment; filename="berth-audit-plant-4-\w{8}-\d{4}-\d\d-\d\d\.jsonl"$/,
    );
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(text).toBe(readAuditLines(site.folder));
    const path = join(tempFolder(), "audit.jsonl");
    writeFileSync(path, text);
    expect(checkAuditExport(realDisk, path)).toMatchObject({ firstSeq: 1, anchor: null });
  });

  test("is the same after lines moved from the journal to the monthly files", async () => {
    const site = await openUsedSite();
    await site.stop();
    const again = await openAppliance({ folder: site.folder, licenses: {} });
    expect((await again.get(EXPORT))[1]).toBe(readAuditLines(site.folder));
    expectOk(await again.register({ user: "eve" }));
    const text = (await again.get<string>(EXPORT))[1];
    expect(text).toBe(readAuditLines(site.folder));
    expect(text).toContain("eve");
  });

  test("has exactly the lines between since and until", async () => {
    const site = await openUsedSite();
    const all = readAuditLines(site.folder).split("\n").slice(0, -1);
    const dated = all.map((line) => [line, (JSON.parse(line) as { at: number }).at] as const);
    const late = dated.filter(([, at]) => at > MONDAY).map(([line]) => line);
    const early = dated.filter(([, at]) => at <= MONDAY).map(([line]) => line);
    const exportLines = async (query: string): Promise<string[]> =>
      (await site.get<string>(`${EXPORT}?${query}`))[1].split("\n").slice(0, -1);
    expect(late.length).toBeGreaterThan(1);
    expect(await exportLines("since=2026-03-03T00:00:00Z")).toEqual(late);
    expect(await exportLines("until=2026-03-03T00:00:00Z")).toEqual(early);
    expect(await exportLines("since=2027-01-01T00:00:00Z")).toEqual([]);
    expect(await exportLines("since=2020-01-01T00:00:00Z&until=2030-01-01T00:00:00Z")).toEqual(all);
  });

  test("yields to other requests after each part, also with four exports at once", async () => {
    const site = await longSite();
    let downloads: Uint8Array[] = [];
    const turns = await countTurns(async () => {
      const exports = Array.from({ length: 4 }, async () => (await requestExport(site)).bytes());
      downloads = await Promise.all(exports);
    });
    const parts = downloads.reduce((sum, { length }) => sum + length, 0) / (256 * 1024);
    expect(parts).toBeGreaterThan(30);
    expect(turns).toBeGreaterThanOrEqual(Math.floor(parts));
  });

  test("that the client cancels is not logged as an error", async () => {
    const site = await longSite();
    const errors = spyOn(log, "error");
    onTestFinished(() => errors.mockRestore());
    const reader = (await requestExport(site)).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await Bun.sleep(20);
    expect(errors).not.toHaveBeenCalled();
  });

  test("is refused when since is not a timestamp", async () => {
    const site = await openAppliance();
    expectRefusal(await site.get(`${EXPORT}?since=now`), 400, "invalid_timestamp");
  });
});

describe("the export of audit events as CSV", () => {
  const CSV = `${AUDIT}/csv`;

  /** The records of the file, without quotes: no cell of these sites contains a line break. */
  async function readRecords(site: Appliance, query = ""): Promise<string[]> {
    const [response, body] = await site.get(`${CSV}${query}`);
    expect(response.status).toBe(200);
    const text = String(body);
    expect(text.endsWith("\r\n")).toBe(true);
    return text.slice(0, -2).split("\r\n");
  }

  test("has a header, and the events that the same filter lists, newest first", async () => {
    const site = await openUsedSite();
    const query = "?user=bob&type=SlotTaken,SlotReleased,ConsumptionAdded";
    const [header, ...records] = await readRecords(site, query);
    expect(header).toBe("seq,event_index,at,type,product,license_id,user,peer,summary,detail");
    const events = await readEvents(site, query);
    expect(records.map((record) => record.split(",").slice(0, 4))).toEqual(
      events.map(({ seq, event_index, at, type }) => [String(seq), String(event_index), at, type]),
    );
    expect(events.length).toBe(3);
  });

  test("has all events of a log that is longer than a page", async () => {
    const site = await openAppliance({ licenses: { 1: { slots: 700 } } });
    for (let user = 0; user < 600; user += 1) expectOk(await site.register({ user: `u${user}` }));
    expect(await readRecords(site, "?type=SlotTaken")).toHaveLength(1 + 600);
  });

  test("yields to other requests by the time that the work takes", async () => {
    const site = await openUsedSite();
    useShortSteps();
    let records: string[] = [];
    const turns = await countTurns(async () => {
      records = await readRecords(site);
    });
    const lines = new Set(records.slice(1).map((record) => record.split(",")[0])).size;
    expect(lines).toBeGreaterThan(5);
    expect(turns).toBeGreaterThanOrEqual(lines);
  });

  test("has only the header when nothing matches", async () => {
    expect(await readRecords(await openUsedSite(), "?user=nobody")).toHaveLength(1);
  });

  test("has a file name with appliance and date, and marks cells that look like formulas", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "=1+2" }));
    const [response, body] = await site.get(`${CSV}?type=SlotTaken`);
    expect(response.headers.get("content-disposition")).toMatch(
      /^attachment; filename="berth-audit-plant-4-\w{8}-\d{4}-\d\d-\d\d\.csv"$/,
    );
    expect(String(body)).toContain(",'=1+2,");
  });

  test("is refused when since is not a timestamp", async () => {
    const site = await openAppliance();
    expectRefusal(await site.get(`${CSV}?since=yesterday`), 400, "invalid_timestamp");
  });
});
