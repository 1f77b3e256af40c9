import type { Command } from "../../domain/decide.ts";
import type { Demand } from "../../domain/model/demand/episode.ts";
import type { Fault } from "../../domain/model/fault.ts";
import type { State } from "../../domain/model/state.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";

/** What a refusal is counted for. */
export interface RefusalSubject {
  /** Null: no installed product. */
  readonly product: string | null;
  /** Null: the product itself, or a feature that it does not have. */
  readonly feature: string | null;
}

/**
 * The installed product of a request, if any, and its feature. Without a name it is the only
 * installed product. Names that are not installed are left out: callers can make up any number.
 */
export function findInstalled(
  { products }: State,
  product: string | null,
  feature: string | null,
): RefusalSubject {
  const name = product ?? (products.size === 1 ? (products.keys().next().value ?? null) : null);
  const licenses = name === null ? undefined : products.get(name);
  if (licenses === undefined) return { product: null, feature: null };
  const hasFeature = feature !== null && licenses.some(({ features }) => features.has(feature));
  return { product: name, feature: hasFeature ? feature : null };
}

/** The slot that a command is to get for its user, and the address it came from. */
export function findDemand(
  state: State,
  command: Command,
): { readonly demand: Demand; readonly peer: string } | null {
  if (command.type === "Register" || command.type === "Borrow") {
    const { product } = findInstalled(state, command.product, null);
    if (product === null || command.user === null) return null;
    return { demand: { product, feature: null, user: command.user }, peer: command.contact.peer };
  }
  if (command.type !== "FeatureRegister") return null;
  const { product, feature } = findInstalled(state, command.product, command.feature);
  if (product === null || feature === null || command.user === null) return null;
  return { demand: { product, feature, user: command.user }, peer: command.peer };
}

/** The demands that a user no longer has after this command. */
export function listDemandsLeft(state: State, command: Command): Demand[] {
  if (command.type === "FeatureRelease") {
    const { product, feature } = findInstalled(state, command.product, command.feature);
    const { user } = command;
    return product === null || feature === null || user === null
      ? []
      : [{ product, feature, user }];
  }
  // What an administrator releases says nothing about what its user wants.
  if (command.type !== "Unregister" || command.by !== "user" || command.user === null) return [];
  const { product } = findInstalled(state, command.product, null);
  if (product === null) return [];
  const { user } = command;
  const features = new Set<string | null>([null]);
  for (const license of state.products.get(product) ?? []) {
    for (const code of license.features.keys()) features.add(code);
  }
  return [...features].map((feature) => ({ product, feature, user }));
}

/** Whether a refusal is unmet demand: no slot was free, or a limit refused one. */
export const isDemandFault = (fault: Fault | StorageFault): fault is DemandFault =>
  fault.code === "floating_not_available" || fault.code === "slots_capped";

export type DemandFault = Extract<
  Fault,
  { readonly code: "floating_not_available" | "slots_capped" }
>;

/** The operator's setting or the rule that refused, with its value; null: no slot was free. */
export function ruleOf(fault: DemandFault): string | null {
  if (fault.code !== "slots_capped") return null;
  if (!("rule" in fault)) return `max_slots_per_${fault.scope} = ${fault.slots}`;
  const { kind, name, slots } = fault.rule;
  return kind === "group" ? `groups.${name} = ${slots}` : `${kind} = ${slots}`;
}
