import { ok } from "../../domain/result.ts";
import { finishBetweenRequests } from "../../platform/schedule/yield-to-requests.ts";
import { inspectRulesInSteps, type InspectedRules } from "../../rules/inspect-rules.ts";
import type { SiteFacts } from "../../rules/site-findings.ts";
import type { JobOutcome } from "../job-queue.ts";

/** Reads rules and compares them with the site; the signal cancels it. */
export type RulesInspector = (
  text: string,
  site: SiteFacts,
  signal: AbortSignal | null,
) => JobOutcome<InspectedRules>;

/** In this process. The longest step is the parse of the TOML: up to 1.8 seconds for 1 MiB. */
export const inspectBetweenRequests: RulesInspector = async (text, site) =>
  ok(await finishBetweenRequests(inspectRulesInSteps(text, site)));
