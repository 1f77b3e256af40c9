/** A characteristic of a machine, hashed for this appliance. */
export interface HardwareDigest {
  readonly kind: string;
  readonly digest: string;
}

/**
 * How many of so many components must still be present: three of five, rounded up, so that one part
 * can be replaced without an outage.
 */
export const requiredComponents = (count: number): number => Math.ceil((count * 3) / 5);

/**
 * Whether a machine with these components is the one that had the known ones. New components do not
 * count against it. An empty list is no machine.
 */
export function isSameMachine(
  known: readonly HardwareDigest[],
  present: readonly HardwareDigest[],
): boolean {
  const bound = new Set(known.map(identify));
  const matching = bound.intersection(new Set(present.map(identify)));
  return bound.size > 0 && matching.size >= requiredComponents(bound.size);
}

const identify = ({ kind, digest }: HardwareDigest): string => `${kind} ${digest}`;
