import { DAY, HOUR, MINUTE } from "../../domain/time.ts";
import type { ClockView } from "../clock/timekeeping.ts";
import { createFinding, type Finding, type HealthReport } from "./finding.ts";

/** Compares the system clock with appliance time, which does not follow every jump. */
export function checkClock(view: ClockView): HealthReport {
  const finding = clockFinding(view);
  return finding === null
    ? { findings: [], passed: [{ check: "clock", summary: "In sync with the system clock" }] }
    : { findings: [finding], passed: [] };
}

/** No times of day in the texts: they would change every second. */
export function clockFinding({ state, now, systemTime }: ClockView): Finding | null {
  const difference = describeDuration(Math.abs(now - systemTime));
  if (state === "suspect") {
    return createFinding("clock_suspect", "error", {
      summary: `The system clock is ${difference} behind: licenses that expire grant no new slots`,
      remedy:
        "Correct the system clock; if the server time is wrong, ask the vendor for a time file",
      command: "berth clock",
    });
  }
  if (state === "behind") {
    return createFinding("clock_behind", "warning", {
      summary: `The system clock is ${difference} behind the server time`,
      remedy:
        "Correct the system clock; if the server time is wrong, ask the vendor for a time file",
      command: "berth clock",
    });
  }
  if (state === "ahead") {
    return createFinding("clock_ahead", "warning", {
      summary: `The system clock is ${difference} ahead and is not followed yet`,
      remedy: "Correct the system clock, or accept it if it is right",
      command: "berth clock accept",
    });
  }
  return null;
}

function describeDuration(duration: number): string {
  if (duration >= 2 * DAY) return `${Math.round(duration / DAY)} days`;
  if (duration >= 2 * HOUR) return `${Math.round(duration / HOUR)} hours`;
  return `${Math.round(duration / MINUTE)} minutes`;
}
