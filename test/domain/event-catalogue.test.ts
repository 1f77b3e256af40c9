import { expect, test } from "bun:test";
import { eventTypes, summarize } from "../../src/domain/event-catalogue.ts";
import type { Event } from "../../src/domain/model/event.ts";
import type { AuditGap } from "../../src/domain/model/state.ts";
import {
  deniedEpisode,
  slotBorrowed,
  hoursLater,
  licenseInstalled,
  minutesLater,
  MONDAY,
  slotTaken,
  utc,
} from "../support/scenario.ts";
import { nextStatement } from "../support/statements.ts";
import { machineOf } from "../../src/domain/model/slots/contact.ts";
import { makeContact } from "../support/contact.ts";

const at = MONDAY;
const slotFields = { at, license: 1, user: "ada", slot: 1 };
const peer = "10.0.0.7";
const countFields = { at, license: 1, user: null, peer, total: 5, resetAt: null };
const GAP: AuditGap = {
  reason: "damaged",
  from: 7,
  to: 9,
  before: "a",
  after: "b",
  at,
  earliest: null,
  latest: null,
  files: [],
};

const SUMMARIES: readonly [Event, string][] = [
  [licenseInstalled(1), "license 1 installed: cad, 2 slots, no expiry, serial 1"],
  [slotTaken("ada"), "slot taken until 2026-03-02T09:30:00Z"],
  [slotBorrowed("ada", hoursLater(5)), "slot borrowed until 2026-03-02T14:00:00Z"],
  [
    { ...slotBorrowed("ada", hoursLater(5)), early: true },
    "borrow shortened to 2026-03-02T14:00:00Z",
  ],
  [{ type: "SlotRenewed", ...slotFields, end: hoursLater(1) }, "slot renewed"],
  [
    { type: "SlotRenewed", ...slotFields, end: hoursLater(1), leasedTo: "laptop" },
    "slot renewed, borrow leased to a device",
  ],
  [
    {
      type: "ContactChanged",
      ...slotFields,
      ...machineOf(makeContact({ hostname: "ws-7", peer })),
    },
    "slot used from ws-7",
  ],
  [
    { type: "ContactChanged", ...slotFields, ...machineOf(makeContact({ peer })) },
    "slot used from another machine",
  ],
  [{ type: "SlotReleased", ...slotFields, by: "user", peer, early: false }, "slot released"],
  [
    { type: "SlotReleased", ...slotFields, by: "admin", peer, early: true },
    "slot released by an administrator before its borrow ended",
  ],
  [{ type: "SlotExpired", ...slotFields }, "slot expired"],
  [{ type: "ConsumptionAdded", ...countFields, count: 3 }, "3 consumed, 5 in total"],
  [{ type: "ConsumptionAdded", ...countFields, count: -3 }, "3 returned, 5 in total"],
  [
    { type: "FeatureConsumptionAdded", ...countFields, count: 1, feature: "plot" },
    "1 of feature plot consumed, 5 in total",
  ],
  [
    { type: "RefusalsCounted", at, product: null, code: "license_expired", count: 1, users: [] },
    "1 request refused: license_expired",
  ],
  [
    {
      type: "RefusalsCounted",
      at,
      product: "CAE",
      feature: "MESH",
      code: "floating_not_available",
      count: 3,
      users: [],
    },
    "3 requests for feature MESH refused: floating_not_available",
  ],
  [
    { type: "EpisodesObserved", at, episodes: [deniedEpisode(), deniedEpisode({ user: "bob" })] },
    "2 denied episodes continued",
  ],
  [
    { type: "EpisodeEnded", at, ...deniedEpisode(), outcome: "gave_up", endedAt: at },
    "slot denied once, then gave up: floating_not_available",
  ],
  [
    {
      type: "EpisodeEnded",
      at,
      ...deniedEpisode({ feature: "MESH", attempts: 50 }),
      outcome: "granted",
      endedAt: minutesLater(4),
    },
    "slot of feature MESH denied 50 times in 4 minutes, then granted: floating_not_available",
  ],
  [
    {
      type: "EpisodeEnded",
      at,
      ...deniedEpisode({ attempts: 2, code: "slots_capped", rule: "max_slots_per_user = 3" }),
      outcome: "left",
      endedAt: hoursLater(3),
    },
    "slot denied 2 times in 3 hours, then left: slots_capped",
  ],
  [
    { type: "StatementMade", vendor: "V", peer, at, ...nextStatement(null, at, "one day") },
    "usage statement 1 for vendor V made, of 2026-02-28",
  ],
  [
    {
      type: "StatementMade",
      vendor: "V",
      peer,
      at,
      ...nextStatement(null, at, "two days"),
      to: utc("2026-03-02T00:00:00Z"),
    },
    "usage statement 1 for vendor V made, from 2026-02-28 to 2026-03-01",
  ],
  [
    { type: "StatementAcknowledged", at, vendor: "V", n: 3, digest: "", peer },
    "usage statement 3 acknowledged by vendor V",
  ],
  [
    { type: "AuditGapDeclared", at, gap: GAP, note: "the disk was replaced", peer },
    "audit log lines 7 to 9 declared missing (damaged): the disk was replaced",
  ],
  [
    { type: "AuditGapDeclared", at, gap: { ...GAP, reason: "sealed", to: 7 }, note: "", peer },
    "audit log line 7 declared missing (sealed)",
  ],
  [{ type: "AccessChanged", at, change: "token_revoked", name: "ops", peer }, "token ops revoked"],
  [
    { type: "SettingChanged", at, name: "site_name", from: "vm", to: "Plant 4", peer },
    "setting site_name changed from vm to Plant 4",
  ],
  [
    {
      type: "SettingChanged",
      at,
      name: "client_networks",
      from: [],
      to: ["::1", "10.1.0.0/16"],
      peer,
    },
    "setting client_networks changed from the default to ::1, 10.1.0.0/16",
  ],
  [
    { type: "ClockSetBack", at, from: hoursLater(2), to: at, peer },
    "time set back from 2026-03-02T11:00:00Z to 2026-03-02T09:00:00Z",
  ],
];

test.each(SUMMARIES.map(([event, summary]) => [summary, event] as const))(
  "summarize says: %s",
  (summary, event) => {
    expect(summarize(event)).toBe(summary);
    expect(eventTypes.has(event.type)).toBe(true);
  },
);

test("eventTypes does not contain names that every object has", () => {
  for (const name of ["constructor", "__proto__", "toString", ""]) {
    expect(eventTypes.has(name)).toBe(false);
  }
});

test("summarize names an unknown event of a newer version by its type", () => {
  for (const type of ["SlotLent", "constructor", "__proto__"]) {
    const event = JSON.parse(JSON.stringify({ type, at })) as Event;
    expect(summarize(event)).toBe(`unknown event from a newer version of berth: ${type}`);
  }
});
