import { createFinding, type HealthReport } from "./finding.ts";

/** What brings the usage files up to the audit log. */
export const USAGE_REMEDY = {
  remedy: "Remove the cause, then compute the usage again",
  command: "berth usage rebuild",
} as const;

/** Reports and the page still count everything, but from the audit log, which takes longer. */
export const checkUsageUpdate = (error: string | null): HealthReport => ({
  findings:
    error === null
      ? []
      : [
          createFinding("usage_failing", "warning", {
            summary: `The last update of the usage files failed: ${error}`,
            ...USAGE_REMEDY,
          }),
        ],
  passed: [],
});
