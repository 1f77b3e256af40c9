import { makeDecision, type Decision } from "../model/decision.ts";
import type { ConsumptionAdded } from "../model/event.ts";
import type { Fault } from "../model/fault.ts";
import { findRecordedOutcome, recordOutcome } from "../idempotency/idempotency.ts";
import {
  findLicenses,
  findMissingFields,
  filterValidLicenses,
  type LicenseSelector,
} from "../licenses/licenses.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { State } from "../model/state.ts";
import { chooseCounter, preferLicenseHeldBy, type ConsumptionRequest } from "./counters.ts";

export interface AddConsumption extends LicenseSelector, ConsumptionRequest {
  readonly type: "AddConsumption";
}

export interface ConsumptionOutcome {
  readonly license: number;
  readonly total: number;
}

export function decideAddConsumption(
  state: State,
  command: AddConsumption,
  context: RuleContext,
): Result<Decision<ConsumptionOutcome>, Fault> {
  const { at } = context;
  const missing = findMissingFields(state, command, {});
  if (missing.length > 0) return err({ code: "missing_parameters", fields: missing });
  const recordedDecision = findRecordedOutcome<ConsumptionOutcome>(
    state,
    "add_consumption",
    command,
    command.user,
    at,
  );
  if (recordedDecision !== null) return recordedDecision;

  const licenses = findLicenses(state, command);
  if (!licenses.ok) return licenses;
  const valid = filterValidLicenses(state, licenses.value, context);
  if (!valid.ok) return valid;
  const countingLicenses = valid.value.filter(({ terms }) => terms.consumption !== null);
  if (countingLicenses.length === 0) return err({ code: "license_not_consumption" });

  const choice = chooseCounter(
    preferLicenseHeldBy(countingLicenses, command.user, at),
    command,
    at,
  );
  if ("refused" in choice) {
    return err(
      choice.refused === "negative"
        ? { code: "negative_not_allowed", total: choice.total, allowed: choice.allowed }
        : { code: "license_not_enough_consumptions", left: choice.left },
    );
  }
  const { license, ...counterFields } = choice;
  const { user, peer, count } = command;
  const outcome = { license: license.id, total: counterFields.total };
  // A count of zero changes nothing: there is no event to write, and a repeat cannot count twice.
  if (count === 0) return makeDecision([], outcome);
  const event: ConsumptionAdded = {
    type: "ConsumptionAdded",
    at,
    license: license.id,
    user,
    peer,
    count,
    ...counterFields,
  };
  const recordEvents = recordOutcome(state, "add_consumption", command, command, outcome, at);
  return makeDecision([event, ...recordEvents], outcome);
}
