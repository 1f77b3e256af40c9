import { isSameMachine } from "../model/hardware-digest.ts";
import { checkLicenseValid } from "./licenses.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { License, State } from "../model/state.ts";
import type { PairHost } from "../model/pair/pair.ts";

/** The products that this host serves, and that another one could not serve if it led. */
export function findUnservedProducts(state: State, host: PairHost, context: RuleContext): string[] {
  const there = {
    ...context,
    isSignedForThisMachine: ({ grant }: License) =>
      (grant.hosts ?? [grant]).some(({ hardware }) => isSameMachine(hardware, host.hardware)),
  };
  const isServed = (licenses: readonly License[], on: RuleContext): boolean =>
    licenses.some((license) => checkLicenseValid(state, license, on) === null);
  return [...state.products]
    .filter(([, licenses]) => isServed(licenses, context) && !isServed(licenses, there))
    .map(([product]) => product);
}
