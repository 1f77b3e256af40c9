import { decideBorrow } from "./borrow.ts";
import type { Command } from "./command.ts";
import { decideAddConsumption, type ConsumptionOutcome } from "./consumption.ts";
import { decided, type Decision } from "./decision.ts";
import type { Fault } from "./fault.ts";
import {
  decideAddFeatureConsumption,
  decideRegisterFeature,
  decideReleaseAllFeatures,
  decideReleaseFeature,
  type FeatureConsumptionOutcome,
  type FeatureOutcome,
} from "./features.ts";
import { decideInstallLicense } from "./licenses.ts";
import { decideCountRefusals } from "./refusals.ts";
import type { Result } from "./result.ts";
import { decideRegister } from "./register.ts";
import type { SlotOutcome } from "./slots.ts";
import { decideUnregister, decideUnregisterAll } from "./unregister.ts";
import type { State } from "./state.ts";
import type { Instant } from "./time.ts";

/** What each command answers with when it is not refused. */
export interface Outcomes {
  Create: null;
  InstallLicense: { readonly license: number };
  Register: SlotOutcome;
  Borrow: SlotOutcome;
  Unregister: { readonly released: number };
  UnregisterAll: { readonly released: number };
  RegisterFeature: FeatureOutcome;
  ReleaseFeature: FeatureOutcome;
  ReleaseAllFeatures: { readonly released: number };
  AddConsumption: ConsumptionOutcome;
  AddFeatureConsumption: FeatureConsumptionOutcome;
  CountRefusals: null;
}

export type OutcomeOf<C extends Command> = Outcomes[C["type"]];

type Decider<C extends Command> = (
  state: State,
  command: C,
  at: Instant,
) => Result<Decision<OutcomeOf<C>>, Fault>;

/** One row per command; a command without its row does not compile. */
const DECIDERS: { readonly [C in Command as C["type"]]: Decider<C> } = {
  Create: (_state, { kind }, at) => decided([{ type: "Created", at, kind }], null),
  InstallLicense: decideInstallLicense,
  Register: decideRegister,
  Borrow: decideBorrow,
  Unregister: decideUnregister,
  UnregisterAll: decideUnregisterAll,
  RegisterFeature: decideRegisterFeature,
  ReleaseFeature: decideReleaseFeature,
  ReleaseAllFeatures: decideReleaseAllFeatures,
  AddConsumption: decideAddConsumption,
  AddFeatureConsumption: decideAddFeatureConsumption,
  CountRefusals: decideCountRefusals,
};

/** A pure function of state, command and the instant it was stamped with. */
export function decide<C extends Command>(
  state: State,
  command: C,
  at: Instant,
): Result<Decision<OutcomeOf<C>>, Fault> {
  // The table pairs each command with its own decider; the compiler loses the pair in the look-up.
  const decider: Decider<C> = DECIDERS[command.type] as never;
  return decider(state, command, at);
}
