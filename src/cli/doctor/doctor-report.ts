import type { DoctorReply } from "../../http/running-server.ts";
import { reportReply } from "../../http/routes/health/findings.ts";
import { worstSeverity, type HealthReport } from "../../operations/health/finding.ts";
import { EXIT_FAILURE, EXIT_NEEDS_OPERATOR, EXIT_OK } from "../frame/command.ts";

/** The output of `berth doctor --json`. */
export const doctorReply = (report: HealthReport): DoctorReply => ({
  worst_severity: worstSeverity(report.findings),
  ...reportReply(report),
});

/** Notes require no action; for a script, a warning is a failure, and so is an error. */
export function exitCodeFor({ findings }: Pick<HealthReport, "findings">): number {
  const worst = worstSeverity(findings);
  if (worst === "error") return EXIT_NEEDS_OPERATOR;
  return worst === "warning" ? EXIT_FAILURE : EXIT_OK;
}
