import { formatDay } from "../../platform/rfc3339.ts";
import type { DeliveryFailure } from "../notifications/delivery-queue.ts";
import { NOTIFICATION_FAILED } from "../notifications/event-choice.ts";
import { createFinding, type HealthReport } from "./finding.ts";

/** Operators who rely on notifications must learn in another way that they do not arrive. */
export const checkNotifications = (failures: readonly DeliveryFailure[]): HealthReport => ({
  findings: failures.map(({ setting, at, reason }) =>
    createFinding(NOTIFICATION_FAILED, "warning", {
      summary: `The notification of ${formatDay(at)} by ${setting} failed: ${reason}`,
      remedy: "Remove the cause, then send a test",
      command: "berth events test",
      subject: setting,
    }),
  ),
  passed: [],
});
