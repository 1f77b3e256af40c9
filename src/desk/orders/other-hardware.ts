import { requiredComponents } from "../../domain/model/hardware-digest.ts";
import type { HashedComponent } from "../../license/documents/hardware.ts";
import type { IssuedEntry } from "../ledger/ledger-entries.ts";

type HardwareList = readonly HashedComponent[];

/**
 * Whether these hosts are others than those of a license: by the rule by which its site would
 * refuse it there. A new network card is no other host.
 */
export function isOtherHardware(
  { hardware = [] }: Pick<IssuedEntry, "hardware">,
  hosts: readonly HardwareList[],
): boolean {
  if (hardware.length !== hosts.length) return true;
  const [first, second] = hosts;
  if (first === undefined) return true;
  const orders =
    second === undefined
      ? [[first]]
      : [
          [first, second],
          [second, first],
        ];
  return !orders.some((order) =>
    hardware.every((list, index) => matches(list, order[index] ?? [])),
  );
}

function matches(bound: HardwareList, live: HardwareList): boolean {
  const present = new Set(live.map(identify));
  const components = new Set(bound.map(identify));
  const matching = [...components].filter((component) => present.has(component)).length;
  return components.size > 0 && matching >= requiredComponents(components.size);
}

const identify = ({ kind, digest }: HashedComponent): string => `${kind} ${digest}`;
