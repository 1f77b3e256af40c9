import { requiredComponents } from "../../domain/model/hardware-digest.ts";

/**
 * Binds a license to a machine: a list of keyed hashes of its components, fixed when the request is
 * made. The license signs the hash of the list; the machine must keep most of the components.
 */

export const COMPONENT_KINDS = [
  "machine_id",
  "product_uuid",
  "board_serial",
  "root_disk",
  "mac",
  /** Not hardware: an identity from the configuration, for containers. */
  "named",
] as const;

export type ComponentKind = (typeof COMPONENT_KINDS)[number];

/** A component as read from the machine; the value never leaves it. */
export interface HardwareComponent {
  readonly kind: ComponentKind;
  readonly value: string;
}

/** A component as sent to the vendor: a hash that differs between appliances, 64 hex digits. */
export interface HashedComponent {
  readonly kind: ComponentKind;
  readonly digest: string;
}

export interface HardwareMatch {
  readonly matchingCount: number;
  readonly requiredCount: number;
  /** One entry for every fixed component that the machine no longer has, in canonical order. */
  readonly missingKinds: readonly ComponentKind[];
  readonly isMatch: boolean;
}

/**
 * Hashes the components with the appliance's public key as the HMAC key. Duplicates and blank
 * values are dropped, and the result does not depend on the order.
 */
export const hashComponents = (
  components: readonly HardwareComponent[],
  key: Uint8Array,
): HashedComponent[] =>
  distinct(
    components
      .filter(({ value }) => value.trim() !== "")
      .map(({ kind, value }) => ({ kind, digest: digestOf(kind, value, key) })),
  );

/**
 * The hash that a license signs. It depends on every entry and on repetition, so that repeating a
 * matching entry cannot improve the match; it does not depend on the order.
 */
export function computeHardwareId(frozen: readonly HashedComponent[]): string {
  const hasher = new Bun.CryptoHasher("sha256");
  const parts = frozen.toSorted(byKindAndDigest).flatMap(({ kind, digest }) => [kind, digest]);
  for (const part of ["berth-hardware-v1", ...parts]) hasher.update(lengthAndBytes(part));
  return hasher.digest("hex");
}

/** New components do not count against the machine. An empty list never matches. */
export function matchHardware(
  frozen: readonly HashedComponent[],
  live: readonly HardwareComponent[],
  key: Uint8Array,
): HardwareMatch {
  const bound = distinct(frozen);
  const present = new Set(hashComponents(live, key).map(identify));
  const missingKinds = bound
    .filter((component) => !present.has(identify(component)))
    .map(({ kind }) => kind);
  const matchingCount = bound.length - missingKinds.length;
  const requiredCount = requiredComponents(bound.length);
  return {
    matchingCount,
    requiredCount,
    missingKinds,
    isMatch: bound.length > 0 && matchingCount >= requiredCount,
  };
}

/** Whether the components are too few to distinguish a machine from a copy of it. */
export const isWeakBinding = (frozen: readonly HashedComponent[]): boolean =>
  distinct(frozen).length < 2 || frozen.some(({ kind }) => kind === "named");

/** Includes the kind: a disk with the same serial as the board is still a different component. */
function digestOf(kind: ComponentKind, value: string, key: Uint8Array): string {
  const hasher = new Bun.CryptoHasher("sha256", key);
  for (const part of ["berth-component-v1", kind, value]) hasher.update(lengthAndBytes(part));
  return hasher.digest("hex");
}

/** A 4-byte big-endian length before the bytes: no two lists of texts have the same encoding. */
function lengthAndBytes(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new TextEncoder().encode(text);
  const framed = new Uint8Array(4 + bytes.length);
  new DataView(framed.buffer).setUint32(0, bytes.length);
  framed.set(bytes, 4);
  return framed;
}

const distinct = (frozen: readonly HashedComponent[]): HashedComponent[] =>
  [...new Map(frozen.map((component) => [identify(component), component])).values()].toSorted(
    byKindAndDigest,
  );

const identify = ({ kind, digest }: HashedComponent): string => `${kind} ${digest}`;

/** Compares code units: the order must not depend on a locale, because a license signs it. */
function byKindAndDigest(a: HashedComponent, b: HashedComponent): number {
  const [left, right] = [identify(a), identify(b)];
  return left < right ? -1 : Number(left > right);
}
