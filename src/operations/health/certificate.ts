import { describeEnd, isEndingSoon, type WarningTime } from "../../domain/licenses/end-date.ts";
import type { Instant } from "../../domain/time.ts";
import { formatDay } from "../../platform/rfc3339.ts";
import { createFinding, type HealthReport } from "./finding.ts";

/** Checks when a TLS certificate ends; null: there is none. */
export function checkCertificate(
  endsAt: Instant | null,
  { now, warningDays }: WarningTime,
): HealthReport {
  if (endsAt === null) return { findings: [], passed: [] };
  if (!isEndingSoon(endsAt, now, warningDays)) {
    const summary = `The TLS certificate is valid until ${formatDay(endsAt)}`;
    return { findings: [], passed: [{ check: "certificate", summary }] };
  }
  const renewal = {
    remedy: "Create a new certificate, then reload the server: systemctl reload berth, or SIGHUP",
    command: "berth tls init",
  };
  const summary = `The TLS certificate ${describeEnd(endsAt, now)}`;
  const finding =
    endsAt <= now
      ? createFinding("certificate_expired", "error", {
          summary: `${summary}, and clients reject it`,
          ...renewal,
        })
      : createFinding("certificate_expiring", "warning", { summary, ...renewal });
  return { findings: [finding], passed: [] };
}
