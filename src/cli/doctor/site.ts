import type { StatusReply } from "../../http/status.ts";
import type { ClockReply } from "../../http/routes/clock.ts";
import { endingOf } from "../ending.ts";
import { finding, ok, type Finding } from "./finding.ts";

/** What the server itself knows: its clock, its licenses, its hardware, its doors. */
export function siteFindings(status: StatusReply, clock: ClockReply): Finding[] {
  const { moved_away_at } = status;
  const isServed = status.pid !== process.pid;
  if (moved_away_at !== null) {
    const found = `it was moved to another host on ${moved_away_at}, and serves nobody any more`;
    return [finding("moved", "warning", found, "remove it once it is served there")];
  }
  return [
    ...status.storage.warnings.map(({ code, message }) =>
      finding(code, "warning", message, "berth status tells how it goes on"),
    ),
    ...(status.storage.fault === null
      ? []
      : [finding("disk", "error", status.storage.fault, "make room, or look after the disk")]),
    clockFinding(clock),
    ...licenseFindings(status),
    ...hardwareFindings(status),
    // What is open is known of a server that runs: without one, nobody listens.
    ...(status.exposures.length === 0 && isServed
      ? [ok("exposures", "none is open that need not be")]
      : []),
    ...status.exposures.map((exposure) =>
      finding("exposure", "note", exposure.finding, exposure.remedy),
    ),
  ];
}

function clockFinding({ state, now, system_clock }: ClockReply): Finding {
  if (state === "ok") return ok("clock", `${now}, as the system's`);
  const found = `the system's clock says ${system_clock}, and time here is ${now}`;
  return state === "ahead"
    ? finding("clock", "warning", found, "if the system's is right: berth clock accept")
    : finding("clock", "warning", found, "set the system's clock right; else berth clock");
}

function licenseFindings({ licenses, now }: StatusReply): Finding[] {
  if (licenses.length === 0) {
    return [finding("licenses", "note", "none yet", "berth trust add, then berth license request")];
  }
  return licenses.map((license): Finding => {
    const { product, license_id, refusal, validity_period, moved_until } = license;
    const name = `license ${license_id}`;
    const { floating_users: slots, floating_slots_in_use: used } = license;
    if (refusal !== null) {
      return finding(name, "warning", `${product}: ${refusal}`, "berth license request asks anew");
    }
    if (moved_until !== null) {
      const found = `${product} is signed for the host it was moved from, and good here until ${moved_until}`;
      return finding(name, "warning", found, `berth license request --product ${product}`);
    }
    const ending = endingOf(validity_period, now);
    if (ending !== null) {
      return finding(name, "warning", `${product} ${ending}`, "berth license request");
    }
    if (used >= slots) {
      const advice = "berth slots tells who holds them";
      return finding(name, "note", `${product}: all ${slots} slots are taken`, advice);
    }
    const end = validity_period === null ? "no end date" : `until ${validity_period}`;
    return ok(name, `${product}: ${used} of ${slots} slots in use, ${end}`);
  });
}

function hardwareFindings({ appliance, licenses }: StatusReply): Finding[] {
  const drifted = licenses.filter(
    ({ hardware_drift, moved_until }) => hardware_drift.length > 0 && moved_until === null,
  );
  return [
    appliance.weak_binding
      ? finding(
          "hardware",
          "note",
          `only ${appliance.components.join(", ") || "nothing"} can be told`,
          "the vendor has to agree to such a weak binding",
        )
      : ok("hardware", `bound to ${appliance.components.join(", ")}`),
    ...drifted.map(({ license_id, hardware_drift }) =>
      finding(
        "hardware",
        "warning",
        `license ${license_id} was signed for another ${hardware_drift.join(", ")}`,
        "berth license request, before more of it changes",
      ),
    ),
  ];
}
