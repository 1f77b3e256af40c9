import type { StatusReply } from "../../http/reply/status.ts";
import type { ClockReply } from "../../http/routes/clock.ts";
import { describeEndIfSoon } from "../frame/times.ts";
import { createFinding, okFinding, type Finding } from "./finding.ts";

/** Checks what the server reports: its clock, licenses, hardware and exposures. */
export function checkSite(status: StatusReply, clock: ClockReply): Finding[] {
  const { moved_away_at } = status;
  const isServerRunning = status.pid !== process.pid;
  if (moved_away_at !== null) {
    const text = `this folder was moved to another host on ${moved_away_at} and no longer grants licenses`;
    return [
      createFinding("moved", "warning", text, "delete the folder once the other host serves it"),
    ];
  }
  return [
    ...status.storage.warnings.map(({ code, message }) =>
      createFinding(code, "warning", message, "run berth status for the current state"),
    ),
    ...(status.storage.fault === null
      ? []
      : [
          createFinding(
            "disk",
            "error",
            status.storage.fault,
            "free disk space, or check the disk",
          ),
        ]),
    clockFinding(clock),
    ...licenseFindings(status),
    ...hardwareFindings(status),
    // Exposures are known only of a running server: without one, nothing listens.
    ...(status.exposures.length === 0 && isServerRunning ? [okFinding("exposures", "none")] : []),
    ...status.exposures.map(({ finding, remedy }) =>
      createFinding("exposure", "note", finding, remedy),
    ),
  ];
}

function clockFinding({ state, now, system_clock }: ClockReply): Finding {
  if (state === "ok") return okFinding("clock", `${now}, same as the system clock`);
  const text = `the system clock says ${system_clock}, but the appliance time is ${now}`;
  return state === "ahead"
    ? createFinding("clock", "warning", text, "if the system clock is right: berth clock accept")
    : createFinding(
        "clock",
        "warning",
        text,
        "correct the system clock; if the appliance time is wrong: berth clock",
      );
}

function licenseFindings({ licenses, now }: StatusReply): Finding[] {
  if (licenses.length === 0) {
    return [
      createFinding(
        "licenses",
        "note",
        "none yet",
        "run berth trust add, then berth license request",
      ),
    ];
  }
  return licenses.map((license): Finding => {
    const { product, license_id, refusal, validity_period, moved_until } = license;
    const name = `license ${license_id}`;
    const { floating_users: slots, floating_slots_in_use: used } = license;
    if (refusal !== null) {
      return createFinding(
        name,
        "warning",
        `${product}: ${refusal}`,
        "create a new request with berth license request",
      );
    }
    if (moved_until !== null) {
      const text = `${product} is signed for the host it was moved from and valid here until ${moved_until}`;
      return createFinding(name, "warning", text, `berth license request --product ${product}`);
    }
    const ending = describeEndIfSoon(validity_period, now);
    if (ending !== null) {
      return createFinding(name, "warning", `${product} ${ending}`, "berth license request");
    }
    if (used >= slots) {
      const advice = "berth slots shows who uses them";
      return createFinding(name, "note", `${product}: all ${slots} slots are in use`, advice);
    }
    const end = validity_period === null ? "no end date" : `until ${validity_period}`;
    return okFinding(name, `${product}: ${used} of ${slots} slots in use, ${end}`);
  });
}

function hardwareFindings({ appliance, licenses }: StatusReply): Finding[] {
  const drifted = licenses.filter(
    ({ hardware_drift, moved_until }) => hardware_drift.length > 0 && moved_until === null,
  );
  return [
    appliance.weak_binding
      ? createFinding(
          "hardware",
          "note",
          `only ${appliance.components.join(", ") || "nothing"} can be identified`,
          "the vendor must allow this weak binding (--allow-weak-binding)",
        )
      : okFinding("hardware", `bound to ${appliance.components.join(", ")}`),
    ...drifted.map(({ license_id, hardware_drift }) =>
      createFinding(
        "hardware",
        "warning",
        `license ${license_id} was signed for a different ${hardware_drift.join(", ")}`,
        "create a new request with berth license request before more hardware changes",
      ),
    ),
  ];
}
