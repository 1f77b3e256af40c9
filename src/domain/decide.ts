import { decideDeclareAuditGaps } from "./appliance/audit-gaps.ts";
import { decideBorrow } from "./slots/borrow.ts";
import {
  decideAskClock,
  decideJumpClock,
  decideMarkClock,
  decideSetClockBack,
} from "./clock/clock.ts";
import type { Command } from "./command.ts";
import { decideAddConsumption, type ConsumptionOutcome } from "./consumption/consumption.ts";
import { makeDecision, type Decision } from "./decision.ts";
import type { Fault } from "./fault.ts";
import {
  decideAddFeatureConsumption,
  decideRegisterFeature,
  decideReleaseAllFeatures,
  decideReleaseFeature,
  type FeatureConsumptionOutcome,
  type FeatureOutcome,
} from "./features/features.ts";
import {
  decideInstallLicense,
  decideMakeActivation,
  decideMakeRequest,
  decideRemoveLicense,
  type InstalledLicense,
} from "./licenses/install.ts";
import { decideMoveAway } from "./appliance/move.ts";
import { decideCountRefusals } from "./appliance/refusals.ts";
import { err, type Result } from "./result.ts";
import type { RuleContext } from "./rule-context.ts";
import { decideRegister } from "./slots/register.ts";
import type { SlotOutcome } from "./slots/slots.ts";
import { decideDistrustVendor, decideTrustVendor } from "./licenses/trust.ts";
import { decideUnregister, decideUnregisterAll } from "./slots/unregister.ts";
import type {
  AuditGap,
  OpenActivation,
  OpenRequest,
  Retirement,
  State,
  Tombstone,
} from "./state.ts";

/** The outcome of each command if it is not refused. */
export interface Outcomes {
  Create: null;
  TrustVendor: { readonly vendor: string };
  DistrustVendor: { readonly vendor: string };
  MakeRequest: OpenRequest;
  MakeActivation: OpenActivation;
  RemoveLicense: Tombstone;
  InstallLicense: InstalledLicense;
  Register: SlotOutcome;
  Borrow: SlotOutcome;
  Unregister: { readonly released: number };
  UnregisterAll: { readonly released: number };
  RegisterFeature: FeatureOutcome;
  ReleaseFeature: FeatureOutcome;
  ReleaseAllFeatures: { readonly released: number };
  AddConsumption: ConsumptionOutcome;
  AddFeatureConsumption: FeatureConsumptionOutcome;
  SetKeys: null;
  ChangeAccess: null;
  MoveAway: Retirement;
  DeclareAuditGaps: { readonly gaps: readonly AuditGap[] };
  MarkClock: null;
  AskClock: null;
  JumpClock: null;
  SetClockBack: null;
  CountRefusals: null;
}

export type OutcomeOf<C extends Command> = Outcomes[C["type"]];

type Decider<C extends Command> = (
  state: State,
  command: C,
  context: RuleContext,
) => Result<Decision<OutcomeOf<C>>, Fault>;

/** One row per command; a command without a row does not compile. */
const DECIDERS: { readonly [C in Command as C["type"]]: Decider<C> } = {
  Create: (_state, { kind, appliance }, { at }) =>
    makeDecision([{ type: "Created", at, kind, appliance }], null),
  TrustVendor: decideTrustVendor,
  DistrustVendor: decideDistrustVendor,
  MakeRequest: decideMakeRequest,
  MakeActivation: decideMakeActivation,
  InstallLicense: decideInstallLicense,
  RemoveLicense: decideRemoveLicense,
  Register: decideRegister,
  Borrow: decideBorrow,
  Unregister: decideUnregister,
  UnregisterAll: decideUnregisterAll,
  RegisterFeature: decideRegisterFeature,
  ReleaseFeature: decideReleaseFeature,
  ReleaseAllFeatures: decideReleaseAllFeatures,
  AddConsumption: decideAddConsumption,
  AddFeatureConsumption: decideAddFeatureConsumption,
  MarkClock: decideMarkClock,
  AskClock: decideAskClock,
  JumpClock: decideJumpClock,
  SetClockBack: decideSetClockBack,
  SetKeys: (_state, { changed, peer }, { at }) =>
    makeDecision([{ type: "KeysSet", at, changed, peer }], null),
  MoveAway: decideMoveAway,
  DeclareAuditGaps: decideDeclareAuditGaps,
  ChangeAccess: (_state, { change, name, peer }, { at }) =>
    makeDecision([{ type: "AccessChanged", at, change, name, peer }], null),
  CountRefusals: decideCountRefusals,
};

/** A pure function of state, command and context. */
export function decide<C extends Command>(
  state: State,
  command: C,
  context: RuleContext,
): Result<Decision<OutcomeOf<C>>, Fault> {
  if (state.retirement !== null && command.type !== "MoveAway") {
    return err({ code: "moved_away", at: state.retirement.at });
  }
  // The table pairs each command with its own decider; the compiler loses this pairing in the
  // lookup.
  const decider: Decider<C> = DECIDERS[command.type] as never;
  return decider(state, command, context);
}
