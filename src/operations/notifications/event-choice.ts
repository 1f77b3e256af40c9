import { INSTALLATION_CODES, SERVER_CODES, SEVERITIES, type Finding } from "../health/finding.ts";
import { DEMAND_CODES, type Condition } from "./condition.ts";

/** The default of the setting `events`: see below. */
export const DEFAULT_EVENTS = "default";

/** A note, because nothing is wrong now; but a host failed, or an operator handed over. */
const LEADER_CHANGED = "pair_leader_changed" satisfies Finding["code"];

/** Everything that needs an action, a change of the leader, and demand that was not met. */
const CHOSEN_BY_DEFAULT: readonly string[] = ["error", "warning", LEADER_CHANGED, ...DEMAND_CODES];

/** What the setting may name: a severity, the code of a finding, or another condition. */
export const EVENT_NAMES: readonly string[] = [
  DEFAULT_EVENTS,
  ...SEVERITIES,
  ...DEMAND_CODES,
  ...SERVER_CODES,
  ...INSTALLATION_CODES,
];

const demandCodes = new Set<string>(DEMAND_CODES);

/** Whether the names choose a condition. A severity chooses findings only. */
export function isChosen(events: readonly string[], { code, severity }: Condition): boolean {
  const names = new Set(
    events.flatMap((name) => (name === DEFAULT_EVENTS ? CHOSEN_BY_DEFAULT : name)),
  );
  return names.has(code) || (!demandCodes.has(code) && names.has(severity));
}

/** The code of the finding about notifications that could not be delivered. */
export const NOTIFICATION_FAILED = "notification_failed" satisfies Finding["code"];
