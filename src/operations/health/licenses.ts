import { describeEnd, isEndingSoon, type WarningTime } from "../../domain/licenses/end-date.ts";
import { getLicenseEnd } from "../../domain/model/licenses/terms.ts";
import type { Instant } from "../../domain/time.ts";
import type { LicenseView } from "../../domain/views/views.ts";
import { reasonOf } from "../../faults/rule-reasons.ts";
import { formatDay } from "../../platform/rfc3339.ts";
import { createFinding, type Finding, type HealthReport } from "./finding.ts";
import { quoteIfNeeded } from "../../platform/shell-quote.ts";

export interface LicenseFacts extends Pick<
  LicenseView,
  "id" | "terms" | "refusal" | "movedUntil" | "restoredUntil" | "slotsInUse" | "total"
> {
  /** Hardware components in the license that this machine no longer has. */
  readonly missingHardware: readonly string[];
  /** In a pair: the hosts that the license names, and the others; null: one host serves alone. */
  readonly pairHosts: PairHosts | null;
}

interface PairHosts {
  readonly licensed: readonly string[];
  readonly others: readonly string[];
}

export function checkLicenses(licenses: readonly LicenseFacts[], time: WarningTime): HealthReport {
  if (licenses.length === 0) {
    const finding = createFinding("license_missing", "note", {
      summary: "No license is installed",
      remedy: "Trust a vendor, request a license, and install the file that comes back",
      command: "berth license request",
    });
    return { findings: [finding], passed: [] };
  }
  const findings = licenses.flatMap((license) => licenseFindings(license, licenses, time));
  const valid = licenses.filter(({ refusal }) => refusal === null).length;
  const isHealthy = findings.every(({ severity }) => severity === "note");
  const summary = valid === 1 ? "1 license is valid" : `${valid} licenses are valid`;
  return { findings, passed: isHealthy ? [{ check: "licenses", summary }] : [] };
}

function licenseFindings(
  license: LicenseFacts,
  all: readonly LicenseFacts[],
  time: WarningTime,
): Finding[] {
  if (license.refusal !== null) return [refusalFinding(license, license.refusal, all)];
  return [
    ...oneHostFindings(license),
    ...otherHardwareFindings(license, time.now),
    ...endFindings(license, time),
    ...useFindings(license),
  ];
}

const requestCommand = (product: string): string =>
  `berth license request --product ${quoteIfNeeded(product)}`;

const requestForHosts = (product: string, hosts: 1 | 2): string =>
  `${requestCommand(product)} --hosts ${hosts}`;

/** A takeover would stop the license. */
function oneHostFindings({ terms: { product }, pairHosts }: LicenseFacts): Finding[] {
  if (pairHosts === null || pairHosts.others.length === 0) return [];
  const { licensed, others } = pairHosts;
  return [
    createFinding("license_one_host", "warning", {
      summary: `${product}: the license is for host ${licensed.join(", ")}, and ${others.join(", ")} cannot serve it after a takeover`,
      remedy: "Request a license of both hosts",
      command: requestForHosts(product, 2),
      subject: product,
    }),
  ];
}

/** The other host leads: the license is still needed. */
function otherHostFinding(product: string, id: number, hosts: string, isOnly: boolean): Finding {
  return createFinding("license_refused", isOnly ? "error" : "note", {
    summary: `${product}: license ${id} serves only while host ${hosts} leads`,
    remedy: `Let host ${hosts} lead with berth pair hand-over, or request a license of both hosts`,
    command: requestForHosts(product, 2),
    subject: product,
  });
}

function refusalFinding(
  { id, terms, pairHosts }: LicenseFacts,
  refusal: string,
  all: readonly LicenseFacts[],
): Finding {
  const { product, start } = terms;
  if (refusal === "license_not_active") {
    return createFinding("license_not_started", "note", {
      summary: `${product}: license ${id} starts on ${start === null ? "" : formatDay(start)}`,
      remedy: "",
      subject: product,
    });
  }
  const other = all.find((entry) => entry.terms.product === product && entry.refusal === null);
  const hosts = pairHosts?.licensed.join(", ") ?? "";
  if (refusal === "hardware_mismatch" && hosts !== "")
    return otherHostFinding(product, id, hosts, other === undefined);
  const code = refusal === "license_expired" ? "license_expired" : "license_refused";
  const reason = reasonOf(refusal);
  if (other !== undefined) {
    return createFinding(code, "note", {
      summary: `${product}: license ${id} grants no slots (${reason}); license ${other.id} is valid`,
      remedy: "Remove the license that is no longer needed",
      command: `berth license remove ${id}`,
      subject: product,
    });
  }
  const isForPair = refusal === "needs_pair";
  return createFinding(code, "error", {
    summary: `${product}: ${reason}, no slots available`,
    remedy: isForPair
      ? "Form the pair again, or request a license of this host"
      : "Request a new license",
    command: isForPair ? requestForHosts(product, 1) : requestCommand(product),
    subject: product,
  });
}

/** A moved or restored license is signed for other hardware: that is one finding, not two. */
function otherHardwareFindings(
  { terms: { product }, movedUntil, restoredUntil, missingHardware }: LicenseFacts,
  now: Instant,
): Finding[] {
  const command = requestCommand(product);
  // Both are possible; the license serves until the later end.
  if (restoredUntil !== null && restoredUntil > (movedUntil ?? 0)) {
    return [
      createFinding("license_restored", "warning", {
        summary: `${product} was issued for another machine and ${describeEnd(restoredUntil, now)} here, where it was restored`,
        remedy: "Request a license for this machine, and do not run the other one any more",
        command,
        subject: product,
      }),
    ];
  }
  if (movedUntil !== null) {
    return [
      createFinding("license_moved", "warning", {
        summary: `${product} was issued for the previous host and ${describeEnd(movedUntil, now)} here`,
        remedy: "Request a license for this host",
        command,
        subject: product,
      }),
    ];
  }
  if (missingHardware.length === 0) return [];
  return [
    createFinding("hardware_drift", "warning", {
      summary: `${product}: ${missingHardware.join(", ")} changed since the license was issued`,
      remedy: "Request a new license before more hardware changes",
      command,
      subject: product,
    }),
  ];
}

function endFindings({ terms }: LicenseFacts, { now, warningDays }: WarningTime): Finding[] {
  const { product, validUntil } = terms;
  const end = getLicenseEnd(terms);
  if (validUntil === null || end === null || !isEndingSoon(validUntil, now, warningDays)) return [];
  const summary =
    validUntil > now
      ? `${product} ${describeEnd(validUntil, now)}`
      : `${product} has expired; its grace period ${describeEnd(end, now)}`;
  return [
    createFinding("license_expiring", "warning", {
      summary,
      remedy: "Request a renewal",
      command: requestCommand(product),
      subject: product,
    }),
  ];
}

function useFindings({ terms, slotsInUse, total }: LicenseFacts): Finding[] {
  const { product, slots, consumption } = terms;
  const findings: Finding[] = [];
  if (slots > 0 && slotsInUse >= slots) {
    findings.push(
      createFinding("slots_full", "note", {
        summary: `${product}: ${slots === 1 ? "the only slot is" : `all ${slots} slots are`} in use`,
        remedy: "See who uses them, or request more slots",
        command: `berth slots --product ${quoteIfNeeded(product)}`,
        subject: product,
      }),
    );
  }
  const max = consumption?.max ?? null;
  if (max !== null && total > max) {
    findings.push(
      createFinding("consumption_over", "note", {
        summary: `${product}: ${total} of ${max} consumed, ${total - max} more than included`,
        remedy: "Request a larger quota if this is the rule",
        command: requestCommand(product),
        subject: product,
      }),
    );
  }
  return findings;
}
