import type { OutcomeOf } from "../../domain/decide.ts";
import type { FeatureRegister } from "../../domain/features/feature-register.ts";
import type { FeatureRelease, FeatureReleaseAll } from "../../domain/features/feature-release.ts";
import type { FeatureView } from "../../domain/views/views.ts";
import {
  passOutcome,
  type CommandRunner,
  type OperationInput,
  type OperationResult,
} from "../command-runner.ts";
import { viewDecidedFeature } from "../licenses/decided-license.ts";

/** Takes and releases features. */
export class Features {
  readonly #commands: CommandRunner;

  constructor(commands: CommandRunner) {
    this.#commands = commands;
  }

  register(input: OperationInput<FeatureRegister>): OperationResult<FeatureView> {
    const command: FeatureRegister = { type: "FeatureRegister", ...input };
    return this.#commands.runCommand(command, input.peer, viewDecidedFeature);
  }

  release(input: OperationInput<FeatureRelease>): OperationResult<OutcomeOf<FeatureRelease>> {
    return this.#commands.runCommand({ type: "FeatureRelease", ...input }, input.peer, passOutcome);
  }

  releaseAll(
    input: OperationInput<FeatureReleaseAll>,
  ): OperationResult<OutcomeOf<FeatureReleaseAll>> {
    return this.#commands.runCommand({ type: "FeatureReleaseAll", ...input }, null, passOutcome);
  }
}
