import type { PairReply } from "../../../http/routes/pair/pair-reply.ts";
import { unwrapReply, withAdminClient, withRunningServer } from "../../client/admin-client.ts";
import { Failure } from "../../frame/command.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { formatCount, formatList, formatTable } from "../../frame/terminal.ts";
import { joinCommands } from "./pair-join.ts";
import { leaveCommand } from "./pair-leave.ts";

type Pair = NonNullable<PairReply["pair"]>;

const status = defineCommand({
  name: "pair status",
  isCommon: true,
  summary: "show both hosts of a pair, which of them leads, and their database",
  options: { ...siteOptions, json: option.json },
  async run(site, context) {
    const reply = await withAdminClient(site, context, ({ admin }) =>
      unwrapReply(admin.pair.get()),
    );
    return { json: reply, text: reply.pair === null ? NO_PAIR : formatPair(reply.pair) };
  },
});

const handOver = defineCommand({
  name: "pair hand-over",
  summary: "on the host that leads: let the other host lead, for example before an upgrade",
  options: { ...siteOptions, json: option.json },
  async run({ data }) {
    const reply = await withRunningServer(data, ({ admin }) =>
      unwrapReply(admin.pair["hand-over"].post({})),
    );
    if (reply === null) {
      throw new Failure(
        `no server is running in ${data}`,
        "the other host leads by itself when this one does not answer",
        "server_not_running",
      );
    }
    return { json: reply, text: `host ${reply.leader} leads now; this host can be stopped` };
  },
});

const NO_PAIR =
  "one host serves this appliance alone; berth help guide pair says how to form a pair";

export function formatPair(pair: Pair): string {
  const { host, role, epoch, leader, leader_url, problem, hosts, database } = pair;
  const facts = [
    ["this host", host === null ? "no server runs here" : `${host}, ${role ?? "unknown"}`],
    ["leader", leader === null ? "not known" : `${leader}${leader_url ? ` (${leader_url})` : ""}`],
    ["epoch", String(epoch ?? "not known")],
    ...(database === null
      ? []
      : [["database", `PostgreSQL ${database.version} at ${database.server}`]]),
    ...(database === null ? [] : [["replication", REPLICATION_TEXTS[database.replication]]]),
    ...(problem === null ? [] : [["problem", problem]]),
    ...(database?.problems ?? []).map((code) => ["exposure", code]),
  ];
  const rows = hosts.map((row) => ({
    host: row.name,
    role: row.role,
    version: row.version,
    seen: row.seen_seconds_ago === null ? null : `${row.seen_seconds_ago} s ago`,
    behind: row.lines_behind === null ? null : formatCount(row.lines_behind, "line"),
    clock: row.clock_ahead_seconds === null ? null : formatOffset(row.clock_ahead_seconds),
    url: row.url,
    hardware: row.hardware_id?.slice(0, HARDWARE_DIGITS) ?? null,
  }));
  return `${formatTable(facts)}\n\n${formatList(rows)}`;
}

/** Enough to compare two hosts by eye. */
const HARDWARE_DIGITS = 16;

const formatOffset = (seconds: number): string => `${seconds >= 0 ? "+" : ""}${seconds} s`;

const REPLICATION_TEXTS: Readonly<Record<NonNullable<Pair["database"]>["replication"], string>> = {
  strict: "synchronous: a change is on two database servers before it is answered",
  loose: "synchronous only while the standby database is connected",
  none: "none or asynchronous: if the database server is lost, changes are lost",
};

/** The hosts of a pair. */
export const pairCommands = [status, ...joinCommands, handOver, leaveCommand];
