import { err, ok } from "../../domain/result.ts";
import {
  inspectBetweenRequests,
  type RulesInspector,
} from "../../operations/rules/rules-inspector.ts";
import type { Environment } from "../../platform/environment.ts";
import type { InspectedRules } from "../../rules/inspect-rules.ts";
import type { SiteFacts } from "../../rules/site-findings.ts";
import type { RulesJobInput } from "../commands/rules/rules-job.ts";
import { EXIT_OK } from "../frame/command.ts";
import { option } from "../frame/flags.ts";
import { envName } from "../frame/options.ts";
import { runChildCommand } from "../maintenance/child-command.ts";
import { toMaintenanceFault } from "../maintenance/maintenance-fault.ts";
import { withoutBerthVariables } from "../maintenance/maintenance.ts";

/** Such a text is read in at most 14 ms, whatever it says; 1 MiB takes up to 1.8 seconds. */
const MAX_LENGTH_IN_SERVER = 8_192;

const NEVER = new AbortController().signal;

/** Reads a long text in a process of its own, so that no request waits for it. */
export function createRulesInspector(environment: Environment): RulesInspector {
  const childEnvironment = {
    ...withoutBerthVariables(environment),
    [envName(option.json)]: "true",
  };
  return async (text, site, signal) => {
    if (text.length <= MAX_LENGTH_IN_SERVER) return inspectBetweenRequests(text, site, signal);
    const input = JSON.stringify(encodeInput(text, site));
    const exit = await runChildCommand(["rules-job"], childEnvironment, signal ?? NEVER, input);
    if (!exit.ok) return exit;
    const { exitCode, stdout } = exit.value;
    return exitCode === EXIT_OK
      ? ok(JSON.parse(stdout) as InspectedRules)
      : err(toMaintenanceFault(exit.value));
  };
}

const encodeInput = (text: string, { clientAuth, products }: SiteFacts): RulesJobInput => ({
  text,
  clientAuth,
  products: [...products].map(([code, { slots, features }]) => [
    code,
    { slots, features: [...features] },
  ]),
});
