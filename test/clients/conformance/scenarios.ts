// All scenarios that every client must pass.
import { slotScenarios } from "./slots.ts";
import type { Scenario } from "./world.ts";

export const SCENARIOS: readonly Scenario[] = [...slotScenarios];
