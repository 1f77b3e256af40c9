import { formatGap } from "../../../domain/model/event-texts.ts";
import { parseReport } from "../../../http/routes/health/findings.ts";
import type { PairReply } from "../../../http/routes/pair/pair-reply.ts";
import type { StatusReply } from "../../../http/routes/health/status-schema.ts";
import { unwrapReply, withAdminClient } from "../../client/admin-client.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { isStandbyRefusal } from "../../client/standby-refusal.ts";
import { formatPair } from "../pair/pair.ts";
import { countFindings, folderToName, formatFindings } from "../../doctor/format-findings.ts";
import { formatList } from "../../frame/terminal.ts";
import { describeEndIfSoon } from "../../frame/times.ts";
import { formatWrappedRows, type LabelledText } from "../../frame/wrap-text.ts";

export const statusCommand = defineCommand({
  name: "status",
  isCommon: true,
  summary: "show licenses, slots, disk and findings of a running server or a data folder",
  options: { ...siteOptions, json: option.json },
  async run(site, context) {
    const namedFolder = folderToName(site.data, context.sources.data);
    return withAdminClient(site, context, async ({ admin }) => {
      try {
        const status = await unwrapReply(admin.status.get());
        return { json: status, text: () => formatStatus(site.data, namedFolder, status) };
      } catch (error) {
        if (!isStandbyRefusal(error)) throw error;
        const reply = await unwrapReply(admin.pair.get());
        return { json: reply, text: () => formatStandby(namedFolder, reply) };
      }
    });
  },
});

/** On standby there is no status of the site: only what this host knows of the pair and itself. */
const formatStandby = (
  namedFolder: string | null,
  { pair, findings = [], passed_checks = [] }: PairReply,
): string =>
  [
    "this host is on standby: the status of the site is that of the leader",
    ...(pair === null ? [] : [formatPair(pair)]),
    formatFindingPart(namedFolder, { findings, passed_checks }),
  ].join("\n\n");

/** What the server knows to be wrong, or that it knows of nothing. */
function formatFindingPart(
  namedFolder: string | null,
  reply: Parameters<typeof parseReport>[0],
): string {
  const { findings } = parseReport(reply);
  if (findings.length === 0) return "no findings";
  return `FINDINGS: ${countFindings(findings)}\n\n${formatFindings(findings, namedFolder)}`;
}

function formatStatus(folder: string, namedFolder: string | null, status: StatusReply): string {
  const { licenses, refusals } = status;
  const rows = licenses.map((license) => ({
    product: license.product,
    license: license.license_id,
    type: license.license_type,
    slots: `${license.floating_slots_in_use}/${license.floating_users}`,
    consumed: consumedText(license),
    expires: license.validity_period ?? "never",
    state: stateOf(license, status),
  }));
  const refusalRows = refusals.map(({ product, feature, code, count }) => ({
    product,
    feature,
    refused: code,
    times: count,
  }));
  return [
    formatWrappedRows(listFacts(folder, status)),
    formatList(rows, "no licenses yet"),
    formatFindingPart(namedFolder, status),
    ...(refusalRows.length === 0 ? [] : [formatList(refusalRows)]),
  ].join("\n\n");
}

/** The facts of the server; what is wrong with them is among the findings. */
function listFacts(folder: string, status: StatusReply): LabelledText[] {
  const { version, site_name, kind, pid, now, appliance, storage, pair, certificate, checked_at } =
    status;
  const running = pid === process.pid ? "no server is running" : `served by process ${pid}`;
  const { seq, audit_seq, free_bytes, slowest_sync_ms, audit_gaps } = storage;
  const free = free_bytes === null ? "" : `${(free_bytes / 2 ** 30).toFixed(1)} GiB free; `;
  const gaps = audit_gaps.map(({ from_line: from, to_line: to, reason }) =>
    formatGap({ from, to, reason }),
  );
  const facts: readonly (readonly [string, string])[] = [
    ["berth", version],
    ["site", site_name],
    ["data", `${folder} (${kind}), ${running}`],
    ["appliance", `${appliance.id}, bound to ${appliance.components.join(", ") || "nothing"}`],
    ["clock", now],
    ["pair", pair === null ? "" : describePair(pair)],
    ["certificate", certificate === null ? "" : `valid until ${certificate.expires_at}`],
    ["disk", `${free}slowest recent sync: ${slowest_sync_ms} ms`],
    ["changes", `written: ${seq}, audit log lines: ${audit_seq}`],
    ...gaps.map((gap) => ["audit log", gap] as const),
    ["full check", checked_at ?? ""],
  ];
  return facts.filter(([, text]) => text !== "").map(([label, text]) => ({ label, text }));
}

/** `alpha leads (this host, epoch 7), beta is on standby, 0 lines behind, seen 1.2 s ago` */
function describePair({ host, leader, epoch, hosts }: NonNullable<StatusReply["pair"]>): string {
  if (host === null) return `hosts ${hosts.map(({ name }) => name).join(" and ")}`;
  const others = hosts
    .filter(({ name }) => name !== leader)
    .map(({ name, lines_behind: behind, seen_seconds_ago: seen }) =>
      seen === null
        ? `${name} has never reported`
        : `${name} is on standby, ${behind ?? "?"} lines behind, seen ${seen} s ago`,
    );
  return [`${leader ?? "no host"} leads (this host, epoch ${epoch ?? "?"})`, ...others].join("; ");
}

function stateOf(license: License, status: StatusReply): string {
  if (license.refusal !== null) return license.refusal;
  if (isMoved(license)) return "moved";
  if (isRestored(license)) return "restored";
  if (isDrifted(license)) return "drifted";
  return describeEndIfSoon(license.validity_period, status) ?? "ok";
}

type License = StatusReply["licenses"][number];

function consumedText(license: License): string {
  const { total_consumptions, max_consumptions, allow_unlimited_consumptions } = license;
  if (max_consumptions !== null) return `${total_consumptions}/${max_consumptions}`;
  return allow_unlimited_consumptions ? `${total_consumptions}/unlimited` : "-";
}

const isMoved = ({ moved_until }: License): boolean => moved_until !== null;
const isRestored = ({ restored_until }: License): boolean => restored_until !== null;
const isDrifted = ({ hardware_drift }: License): boolean => hardware_drift.length > 0;
