// All scenarios that every client must pass. Those that take longest come first.
import { accessScenarios } from "./access.ts";
import { argumentScenarios } from "./arguments.ts";
import { borrowingScenarios } from "./borrowing.ts";
import { cancellingScenarios } from "./cancelling.ts";
import { countingScenarios } from "./counting.ts";
import { endingScenarios } from "./ending.ts";
import { errorScenarios } from "./errors.ts";
import { failoverScenarios } from "./failover.ts";
import { featureScenarios } from "./features.ts";
import { heartbeatScenarios } from "./heartbeats.ts";
import { messageScenarios } from "./messages.ts";
import { replyScenarios } from "./replies.ts";
import { restartScenarios } from "./restarts.ts";
import { slotScenarios } from "./slots.ts";
import { stressScenarios } from "./stress.ts";
import { waitingScenarios } from "./waiting.ts";
import type { Scenario } from "./world.ts";

export const SCENARIOS: readonly Scenario[] = [
  ...countingScenarios,
  ...stressScenarios,
  ...restartScenarios,
  ...heartbeatScenarios,
  ...failoverScenarios,
  ...replyScenarios,
  ...waitingScenarios,
  ...cancellingScenarios,
  ...featureScenarios,
  ...endingScenarios,
  ...accessScenarios,
  ...borrowingScenarios,
  ...errorScenarios,
  ...messageScenarios,
  ...slotScenarios,
  ...argumentScenarios,
];
