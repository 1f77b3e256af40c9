import type { AddConsumption } from "../../domain/consumption/add-consumption.ts";
import type { AddFeatureConsumption } from "../../domain/consumption/add-feature-consumption.ts";
import type { FeatureView, LicenseView } from "../../domain/views/views.ts";
import {
  buildIdempotency,
  type CommandRunner,
  type OperationInput,
  type OperationResult,
} from "../command-runner.ts";
import { viewDecidedFeature, viewDecidedLicense } from "../licenses/decided-license.ts";

export interface ConsumptionResult {
  readonly total: number;
  readonly view: LicenseView;
}

export interface FeatureConsumptionResult {
  readonly license: number;
  readonly total: number;
  readonly view: FeatureView;
}

/** Adds to the counters of licenses and features. */
export class Consumption {
  readonly #commands: CommandRunner;

  constructor(commands: CommandRunner) {
    this.#commands = commands;
  }

  add({
    idempotencyKey = null,
    ...input
  }: OperationInput<AddConsumption>): OperationResult<ConsumptionResult> {
    const { licenseId, count, allowOverages, maxOverages } = input;
    const once = buildIdempotency(idempotencyKey, [licenseId, count, allowOverages, maxOverages]);
    return this.#commands.runCommand(
      { type: "AddConsumption", ...input, once },
      input.peer,
      (state, outcome, context) => ({
        ...outcome,
        view: viewDecidedLicense(state, outcome.license, context),
      }),
    );
  }

  addForFeature({
    idempotencyKey = null,
    ...input
  }: OperationInput<AddFeatureConsumption>): OperationResult<FeatureConsumptionResult> {
    const { licenseId, feature, count, allowOverages, maxOverages } = input;
    const once = buildIdempotency(idempotencyKey, [
      licenseId,
      feature,
      count,
      allowOverages,
      maxOverages,
    ]);
    return this.#commands.runCommand(
      { type: "AddFeatureConsumption", ...input, once },
      input.peer,
      (state, outcome, context) => ({
        ...outcome,
        view: viewDecidedFeature(state, outcome, context),
      }),
    );
  }
}
