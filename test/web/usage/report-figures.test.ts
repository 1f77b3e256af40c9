import { describe, expect, test } from "bun:test";
import { csvOfTable } from "../../../src/web/parts/data-columns.ts";
import {
  countByDay,
  summarizeEpisodes,
  type DayReply,
  type EpisodeReply,
} from "../../../src/web/usage/denied-figures.ts";
import { findUse, makePoolRows, type PoolReply } from "../../../src/web/usage/pool-rows.ts";

const episode = (different: Partial<EpisodeReply>): EpisodeReply => ({
  product: "CAD",
  feature: null,
  person: "ada",
  user: "ada",
  peer: "10.0.0.1",
  code: "floating_not_available",
  rule: null,
  first_at: "2026-11-10T09:00:00.000Z",
  last_at: "2026-11-10T09:05:00.000Z",
  attempts: 3,
  outcome: "granted",
  waited_seconds: 60,
  ...different,
});

const day = (different: Partial<DayReply>): DayReply => ({
  day: "2026-11-10",
  product: "CAD",
  feature: null,
  limit: 10,
  peak: 4,
  slot_hours: 8,
  hours_at_limit: 0,
  people: 3,
  episodes: 0,
  attempts: 0,
  granted: 0,
  gave_up: 0,
  left: 0,
  waits: null,
  consumption: 0,
  ...different,
});

const pool = (different: Partial<PoolReply>): PoolReply => ({
  product: "CAD",
  feature: null,
  limit: 10,
  limits: [],
  peak: 4,
  p95: 3,
  p99: 4,
  mean: 2.5,
  hours_at_limit: 0,
  observed_hours: 24,
  slot_hours: 60,
  sessions: 9,
  people: 3,
  episodes: 0,
  open_episodes: 0,
  heat_map: { mean: [], peak: [] },
  ...different,
});

describe("the summary of denied episodes", () => {
  test("counts people once, and waits only of those who got a slot", () => {
    const episodes = [
      ...[30, 90, 10, 50].map((waited_seconds) => episode({ waited_seconds })),
      episode({ person: "bob", outcome: "gave_up", waited_seconds: 5_000 }),
    ];
    expect(summarizeEpisodes(episodes)).toEqual({
      episodes: 5,
      people: 2,
      granted: 4,
      waits: { median: 30, p95: 90, longest: 90 },
    });
  });

  test("has no waits if no episode ended with a slot", () => {
    expect(summarizeEpisodes([episode({ outcome: "left" })]).waits).toBeNull();
  });

  test("has a count for every wanted day, summed over products", () => {
    const days = [
      day({ episodes: 2 }),
      day({ product: "SIM", episodes: 3 }),
      day({ day: "2026-11-11", episodes: 1 }),
    ];
    expect(countByDay(days, ["2026-11-09", "2026-11-10"])).toEqual([
      { day: "2026-11-09", episodes: 0 },
      { day: "2026-11-10", episodes: 5 },
    ]);
  });
});

describe("the rows of products and features", () => {
  const nothing = { status: null, licenses: null };

  test("begin with the most denied episodes, then the longest full", () => {
    const pools = [
      pool({ product: "A" }),
      pool({ product: "B", hours_at_limit: 5 }),
      pool({ product: "C", episodes: 2 }),
      pool({ product: "C", feature: "MESH", episodes: 9 }),
    ];
    const rows = makePoolRows({ pools, days: [] }, nothing);
    expect(rows.map(({ product, feature }) => [product, feature])).toEqual([
      ["C", "MESH"],
      ["C", null],
      ["B", null],
      ["A", null],
    ]);
  });

  test("have the days of their own pool only, and no value on days without a license", () => {
    const days = [
      day({ limit: 0, peak: 0 }),
      day({ day: "2026-11-11", limit: 4, peak: 4 }),
      day({ day: "2026-11-11", feature: "MESH", limit: 5, peak: 1 }),
    ];
    const [row] = makePoolRows({ pools: [pool({})], days }, nothing);
    expect(row?.peaks).toEqual([null, 4]);
    expect(row?.limitsByDay).toEqual([null, 4]);
  });

  test("use the licenses of the product now; one that is refused adds no limit", () => {
    const license = { product: "CAD", floating_slots_in_use: 3, floating_users: 5, refusal: null };
    const licenses = [
      license,
      { ...license, floating_slots_in_use: 1, refusal: "license_expired" },
      { ...license, product: "SIM" },
    ] as never;
    const live = { status: { licenses }, licenses: null };
    expect(findUse(pool({}), live)).toEqual({ used: 4, limit: 5 });
    expect(findUse(pool({ product: "NONE" }), live)).toBeNull();
  });
});

test("the CSV of a table has every row, numbers as they are, and no formula", () => {
  const columns = [
    { title: "Person", value: ({ person }: EpisodeReply) => person },
    {
      title: "Waited",
      csvTitle: "Waited (seconds)",
      value: ({ waited_seconds }: EpisodeReply) => waited_seconds,
      show: () => "shown",
    },
    { title: "Rule", value: ({ rule }: EpisodeReply) => rule },
  ];
  const rows = [episode({ person: "=cmd()", waited_seconds: 12_000 })];
  expect(csvOfTable(columns, rows)).toBe("Person,Waited (seconds),Rule\r\n'=cmd(),12000,\r\n");
});
