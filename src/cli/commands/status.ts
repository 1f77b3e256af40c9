import { formatGap } from "../../domain/event-texts.ts";
import type { StatusReply } from "../../http/reply/status.ts";
import { unwrapReply, withAdminClient } from "../client/admin-client.ts";
import { defineCommand } from "../frame/define-command.ts";
import { option, siteOptions } from "../frame/flags.ts";
import { formatTable } from "../frame/terminal.ts";
import { describeEndIfSoon } from "../frame/times.ts";
import { describeCertificate } from "../tls/tls-files.ts";

export const statusCommand = defineCommand({
  name: "status",
  isCommon: true,
  summary: "show licenses, slots, disk and exposures of a running server or a data folder",
  options: { ...siteOptions, json: option.json },
  async run(site, context) {
    const status = await withAdminClient(site, context, ({ admin }) =>
      unwrapReply(admin.status.get()),
    );
    return { json: status, text: () => formatStatus(site.data, status) };
  },
});

function formatStatus(
  folder: string,
  {
    version,
    kind,
    pid,
    now,
    moved_away_at,
    appliance,
    storage,
    licenses,
    refusals,
    exposures,
    certificate,
  }: StatusReply,
): string {
  const running = pid === process.pid ? "no server is running" : `served by process ${pid}`;
  const { fault, warnings, recovery_notes, seq, audit_seq, free_bytes, slowest_sync_ms } = storage;
  const gaps = storage.audit_gaps.map(({ from_line: from, to_line: to, reason }) =>
    formatGap({ from, to, reason }),
  );
  const free = free_bytes === null ? "" : `, ${(free_bytes / 2 ** 30).toFixed(1)} GiB free`;
  const facts = [
    ["berth", version],
    ["data", `${folder} (${kind}), ${running}`],
    ...(moved_away_at === null
      ? []
      : [["moved", `to another host on ${moved_away_at}: it no longer grants licenses`]]),
    ["appliance", `${appliance.id}, bound to ${appliance.components.join(", ") || "nothing"}`],
    ...(appliance.weak_binding
      ? [["binding", "weak: too few hardware components can be identified"]]
      : []),
    ["clock", now],
    ...(certificate === null
      ? []
      : [["certificate", describeCertificate(certificate.state, certificate.expires_at)]]),
    [
      "disk",
      `${fault ?? (warnings.length === 0 ? "ok" : "degraded")}${free}; changes written: ${seq}, audit log lines: ${audit_seq}; slowest recent sync: ${slowest_sync_ms} ms`,
    ],
    ...warnings.map(({ code, message }) => [code, message]),
    ...gaps.map((gap) => ["audit log", gap]),
    ...recovery_notes.map((note) => ["note", note]),
  ];
  const rows = licenses.map((license) => [
    license.product,
    String(license.license_id),
    license.license_type,
    `${license.floating_slots_in_use}/${license.floating_users}`,
    consumedText(license),
    license.validity_period ?? "never",
    stateOf(license, now),
  ]);
  const moved = licenses
    .filter(isMoved)
    .map(({ license_id, product, moved_until }) => [
      "moved",
      `${license_id}: valid here until ${moved_until}; berth license request --product ${product}`,
    ]);
  const drift = licenses
    .filter((license) => isDrifted(license) && !isMoved(license))
    .map(({ license_id, hardware_drift }) => [
      `drift`,
      `${license_id}: ${hardware_drift.join(", ")}`,
    ]);
  const header = ["PRODUCT", "LICENSE", "TYPE", "SLOTS", "CONSUMED", "EXPIRES", "STATE"];
  const refusalRows = refusals.map(({ product, code, count }) => [
    product ?? "-",
    code,
    String(count),
  ]);
  return [
    formatTable([...facts, ...moved, ...drift]),
    rows.length === 0 ? "no licenses yet" : formatTable([header, ...rows]),
    ...(exposures.length === 0
      ? []
      : [
          formatTable([
            ["EXPOSURE", "REMEDY"],
            ...exposures.map(({ finding, remedy }) => [finding, remedy]),
          ]),
        ]),
    ...(refusalRows.length === 0
      ? []
      : [formatTable([["PRODUCT", "REFUSED", "TIMES"], ...refusalRows])]),
  ].join("\n\n");
}

function stateOf(license: License, now: string): string {
  if (license.refusal !== null) return license.refusal;
  if (isMoved(license)) return "moved";
  if (isDrifted(license)) return "drifted";
  return describeEndIfSoon(license.validity_period, now) ?? "ok";
}

type License = StatusReply["licenses"][number];

function consumedText(license: License): string {
  const { total_consumptions, max_consumptions, allow_unlimited_consumptions } = license;
  if (max_consumptions !== null) return `${total_consumptions}/${max_consumptions}`;
  return allow_unlimited_consumptions ? `${total_consumptions}/unlimited` : "-";
}

const isMoved = ({ moved_until }: License): boolean => moved_until !== null;
const isDrifted = ({ hardware_drift }: License): boolean => hardware_drift.length > 0;
