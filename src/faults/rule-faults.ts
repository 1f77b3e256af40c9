import type { Fault } from "../domain/fault.ts";
import type { FaultRows } from "./fault-row.ts";
import { INSTALLATION_FAULTS } from "./installation-faults.ts";
import { USE_FAULTS } from "./use-faults.ts";

/** One row for each refusal of the rules in `domain`; the page needs these rows alone. */
export const RULE_FAULTS: FaultRows<Fault["code"]> = { ...USE_FAULTS, ...INSTALLATION_FAULTS };
