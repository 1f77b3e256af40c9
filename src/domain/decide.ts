import { decideChangeAccess } from "./access/change-access.ts";
import { decideChangeSettings } from "./settings/change-settings.ts";
import { decideCountRefusals } from "./audit/count-refusals.ts";
import { decideCreate } from "./appliance/create.ts";
import { decideDeclareAuditGaps } from "./audit/audit-gaps.ts";
import { decideMoveAway } from "./appliance/move.ts";
import { decideSetKeys } from "./appliance/set-keys.ts";
import {
  decideAskClock,
  decideJumpClock,
  decideMarkClock,
  decideSetClockBack,
} from "./clock/clock.ts";
import { decideAddConsumption } from "./consumption/add-consumption.ts";
import { decideAddFeatureConsumption } from "./consumption/add-feature-consumption.ts";
import { decideEndEpisodes, decideObserveEpisodes } from "./demand/record-episodes.ts";
import type { Decision } from "./model/decision.ts";
import type { Fault } from "./model/fault.ts";
import { decideFeatureRegister } from "./features/feature-register.ts";
import { decideFeatureRelease, decideFeatureReleaseAll } from "./features/feature-release.ts";
import { decideAirgapGenerate } from "./requests/airgap-generate.ts";
import { decideAirgapLicense } from "./requests/airgap-license.ts";
import { decideCancelRequest } from "./requests/cancel-request.ts";
import { decideLicenseGenerate } from "./requests/license-generate.ts";
import { decideLicenseRemove } from "./requests/license-remove.ts";
import { decideLicenseUpload } from "./requests/license-upload.ts";
import { decideDistrustVendor, decideTrustVendor } from "./trust/trust.ts";
import { err, type Result } from "./result.ts";
import { decideAdmitHost } from "./pair/admit-host.ts";
import { decideChangeLeader } from "./pair/change-leader.ts";
import { decideLeavePair } from "./pair/leave-pair.ts";
import { decideApplyRules } from "./rules/apply-rules.ts";
import { decideRecallReservation } from "./rules/recall-reservation.ts";
import type { RuleContext } from "./model/rule-context.ts";
import { decideAcknowledgeStatement } from "./statements/acknowledge-statement.ts";
import { decideMakeStatement } from "./statements/make-statement.ts";
import { decideSettleExpiries } from "./statements/settle-expiries.ts";
import { decideBorrow } from "./slots/borrow.ts";
import { decideRegister } from "./slots/register.ts";
import { decideUnregister, decideUnregisterAll } from "./slots/unregister.ts";
import { decideDropPlace, decideMovePlace } from "./queue/dispatch/change-place.ts";
import { decideDispatch } from "./queue/dispatch/dispatch.ts";
import { decideTakePlace } from "./queue/dispatch/take-place.ts";
import type { State } from "./model/state.ts";

/** The list of commands: one row per command, under its name. */
const DECIDERS = {
  Create: decideCreate,
  TrustVendor: decideTrustVendor,
  DistrustVendor: decideDistrustVendor,
  LicenseGenerate: decideLicenseGenerate,
  LicenseUpload: decideLicenseUpload,
  LicenseRemove: decideLicenseRemove,
  AirgapGenerate: decideAirgapGenerate,
  AirgapLicense: decideAirgapLicense,
  CancelRequest: decideCancelRequest,
  Register: decideRegister,
  Borrow: decideBorrow,
  Unregister: decideUnregister,
  UnregisterAll: decideUnregisterAll,
  TakePlace: decideTakePlace,
  Dispatch: decideDispatch,
  MovePlace: decideMovePlace,
  DropPlace: decideDropPlace,
  FeatureRegister: decideFeatureRegister,
  FeatureRelease: decideFeatureRelease,
  FeatureReleaseAll: decideFeatureReleaseAll,
  AddConsumption: decideAddConsumption,
  AddFeatureConsumption: decideAddFeatureConsumption,
  MarkClock: decideMarkClock,
  AskClock: decideAskClock,
  JumpClock: decideJumpClock,
  SetClockBack: decideSetClockBack,
  SetKeys: decideSetKeys,
  MoveAway: decideMoveAway,
  SettleExpiries: decideSettleExpiries,
  MakeStatement: decideMakeStatement,
  AcknowledgeStatement: decideAcknowledgeStatement,
  DeclareAuditGaps: decideDeclareAuditGaps,
  ChangeAccess: decideChangeAccess,
  ChangeSettings: decideChangeSettings,
  ObserveEpisodes: decideObserveEpisodes,
  EndEpisodes: decideEndEpisodes,
  CountRefusals: decideCountRefusals,
  ApplyRules: decideApplyRules,
  RecallReservation: decideRecallReservation,
  AdmitHost: decideAdmitHost,
  ChangeLeader: decideChangeLeader,
  LeavePair: decideLeavePair,
};

type Deciders = typeof DECIDERS;

/**
 * A change that a caller requests. Optional fields are null if left out; the rules decide which are
 * required.
 */
export type Command = Parameters<Deciders[keyof Deciders]>[1];

/** The outcome of each command if it is not refused. */
type Outcomes = {
  readonly [T in keyof Deciders]: Extract<
    ReturnType<Deciders[T]>,
    { readonly ok: true }
  >["value"]["outcome"];
};

export type OutcomeOf<C extends Command> = Outcomes[C["type"]];

type Decider<C extends Command> = (
  state: State,
  command: C,
  context: RuleContext,
) => Result<Decision<OutcomeOf<C>>, Fault>;

/** Does not compile if a row of the table has the name of another command. */
const DECIDER_BY_TYPE: { readonly [C in Command as C["type"]]: Decider<C> } = DECIDERS;

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
  const decider: Decider<C> = DECIDER_BY_TYPE[command.type] as never;
  return decider(state, command, context);
}
