import { Type, type Static, type TSchema } from "@sinclair/typebox";

const time = Type.String({ format: "date-time" });
const orNull = <T extends TSchema>(schema: T, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
const count = Type.Integer();
const hours = Type.Number({ description: "Hours." });
const seconds = Type.Integer({ description: "Seconds." });

const pool = {
  product: Type.String(),
  feature: orNull(Type.String(), "null: the slots of the product itself."),
};

const episodeCounts = {
  episodes: count,
  attempts: Type.Integer({ description: "Refused calls." }),
  granted: count,
  gave_up: count,
  left: count,
};

const Waits = Type.Object(
  { median_seconds: seconds, p95_seconds: seconds, longest_seconds: seconds },
  {
    title: "ReportWaits",
    description: "Of episodes that ended with a grant, from the first refusal to the grant.",
  },
);

const weekdayRows = Type.Array(Type.Array(orNull(Type.Number())), {
  description: "7 rows, Monday first, of 24 hours; null: this hour was not observed.",
});

const ReportPool = Type.Object(
  {
    ...pool,
    limit: Type.Integer({ description: "Slots at the end of the period." }),
    limits: Type.Array(Type.Object({ from: time, limit: count }), {
      description: "The limits that were in force in the period, oldest first.",
    }),
    peak: count,
    p95: Type.Integer({
      description: "The level that use stayed at or under for 95 % of the observed time.",
    }),
    p99: count,
    mean: Type.Number(),
    hours_at_limit: hours,
    observed_hours: Type.Number({ description: "Hours in which a license was installed." }),
    slot_hours: hours,
    sessions: count,
    people: count,
    episodes: count,
    open_episodes: Type.Integer({
      description: "Episodes that have not ended; they are in no other figure of the pool.",
    }),
    heat_map: Type.Object({ mean: weekdayRows, peak: weekdayRows }),
  },
  { title: "ReportPool" },
);

const ReportDay = Type.Object(
  {
    day: Type.String({ description: "YYYY-MM-DD in the time zone of the report." }),
    ...pool,
    limit: Type.Integer({ description: "The highest limit of the day." }),
    peak: count,
    slot_hours: hours,
    hours_at_limit: hours,
    people: count,
    ...episodeCounts,
    waits: orNull(Waits),
    consumption: count,
  },
  { title: "ReportDay" },
);

const ReportEpisode = Type.Object(
  {
    ...pool,
    person: Type.String({ description: "The user name up to the first #." }),
    user: Type.String(),
    peer: Type.String({ description: "Address of the last refused call." }),
    code: Type.String({ description: "Error code of the last refusal." }),
    rule: orNull(Type.String(), "The limit that refused; null: no slot was free."),
    first_at: time,
    last_at: time,
    attempts: count,
    outcome: Type.Union([Type.Literal("granted"), Type.Literal("gave_up"), Type.Literal("left")]),
    waited_seconds: Type.Integer({ description: "Until the grant; else until the last refusal." }),
  },
  { title: "ReportEpisode" },
);

const ReportPerson = Type.Object(
  {
    ...pool,
    person: Type.String(),
    slot_hours: hours,
    sessions: count,
    borrows: count,
    episodes: count,
  },
  { title: "ReportPerson" },
);

const ReportIdleHolder = Type.Object(
  {
    person: Type.String(),
    user: Type.String(),
    product: Type.String(),
    license_id: count,
    host: Type.String(),
    peer: Type.String(),
    held_since: time,
    last_seen_at: time,
    last_use_at: orNull(time, "The last consumption or feature; null: none is known."),
    idle_days: count,
    borrowed_until: orNull(time),
  },
  { title: "ReportIdleHolder" },
);

const ReportSession = Type.Object(
  {
    ...pool,
    license_id: count,
    slot: count,
    person: Type.String(),
    user: Type.String(),
    host: Type.String(),
    peer: Type.String(),
    start: orNull(time, "null: taken before known_from."),
    end: orNull(time, "null: still held."),
    ended_by: orNull(Type.String(), "user, admin, expiry or license_removed."),
  },
  { title: "ReportSession" },
);

const ReportDenials = Type.Object(
  {
    ...episodeCounts,
    open: Type.Integer({
      description: "Episodes that began in the period and have not ended; counted nowhere else.",
    }),
    people: count,
    waits: orNull(Waits),
    reasons: Type.Array(
      Type.Object({
        ...pool,
        code: Type.String(),
        rule: orNull(Type.String()),
        episodes: count,
        people: count,
      }),
    ),
    denied_people: Type.Array(
      Type.Object({ person: Type.String(), ...episodeCounts, longest_wait_seconds: seconds }),
      { description: "Most episodes first." },
    ),
  },
  { title: "ReportDenials" },
);

export const ReportReply = Type.Object(
  {
    from: time,
    to: time,
    known_from: Type.Unsafe<string>({ ...time, description: "Nothing is known before this time." }),
    as_of: Type.Unsafe<string>({ ...time, description: "Time of the newest data." }),
    missing: Type.Array(
      Type.Object({
        from: time,
        to: time,
        first_line: Type.Integer(),
        last_line: Type.Integer(),
      }),
      {
        description:
          "Lines of the audit log that are damaged or were declared missing, between the times of " +
          "the lines around them: the figures of these days are too low. The oldest come first.",
      },
    ),
    product: orNull(Type.String()),
    feature: orNull(Type.String()),
    time_zone: Type.String({ description: "Of the days and the heat maps." }),
    idle_days: count,
    anonymous: Type.Boolean({ description: "Names, hosts and addresses are random keys." }),
    pools: Type.Array(ReportPool),
    days: Type.Array(ReportDay),
    denials: ReportDenials,
    episodes: Type.Array(ReportEpisode, { description: "The newest ones, oldest first." }),
    people: Type.Array(ReportPerson, { description: "Most slot hours first." }),
    borrows: Type.Array(
      Type.Object({
        product: Type.String(),
        borrows: count,
        people: count,
        borrowed_hours: hours,
        longest_hours: hours,
      }),
    ),
    idle: Type.Array(ReportIdleHolder, {
      description: "Holders of slots now, without consumption or features for idle_days.",
    }),
    consumption: Type.Array(
      Type.Object({
        ...pool,
        license_id: count,
        counted: count,
        total: count,
        max: orNull(count, "null: unlimited."),
        overage: Type.Integer({ description: "The highest total above the maximum." }),
        people: count,
      }),
    ),
    ending: Type.Array(Type.Object({ ...pool, license_id: count, slots: count, ends_at: time }), {
      description: "Installed licenses and features with an end, the next end first.",
    }),
    sessions: Type.Array(ReportSession, { description: "Only if requested; the newest ones." }),
    omitted: Type.Object(
      {
        days: count,
        denied_people: count,
        episodes: count,
        people: count,
        idle: count,
        sessions: count,
      },
      { description: "How many rows of each list are left out." },
    ),
  },
  { title: "Report" },
);

export type ReportReply = Static<typeof ReportReply>;
export type ReportPoolReply = ReportReply["pools"][number];
