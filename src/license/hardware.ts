/**
 * What ties a license to a machine: a list of keyed hashes, frozen when the request is made. The
 * license signs the hash of the list; the machine must then still have most of what is on it.
 */

export const COMPONENT_KINDS = [
  "machine_id",
  "product_uuid",
  "board_serial",
  "root_disk",
  "mac",
  /** No hardware: an identity the configuration names, for containers. */
  "named",
] as const;

export type ComponentKind = (typeof COMPONENT_KINDS)[number];

/** As read from the machine. Never leaves it. */
export interface HardwareComponent {
  readonly kind: ComponentKind;
  readonly value: string;
}

/** As it travels: 64 lower-case hex digits that differ from appliance to appliance. */
export interface HashedComponent {
  readonly kind: ComponentKind;
  readonly digest: string;
}

export interface HardwareMatch {
  readonly matchingCount: number;
  readonly requiredCount: number;
  /** One entry for every frozen component the machine no longer has, in canonical order. */
  readonly missingKinds: readonly ComponentKind[];
  readonly isMatch: boolean;
}

/**
 * Hashes under the appliance's public key. Each value counts once, however often it was found, and
 * a blank one not at all; the order they were found in does not show.
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
 * What a license signs. Any change to the list changes it, an entry repeated as well, so that
 * nobody gains weight by repeating what still matches; only the order does not matter.
 */
export function computeHardwareId(frozen: readonly HashedComponent[]): string {
  const hasher = new Bun.CryptoHasher("sha256");
  const parts = frozen.toSorted(byKindAndDigest).flatMap(({ kind, digest }) => [kind, digest]);
  for (const part of ["berth-hardware-v1", ...parts]) hasher.update(lengthAndBytes(part));
  return hasher.digest("hex");
}

/**
 * Three in five must still be there, rounded up, so that one part can be replaced without an
 * outage. What the machine gained since does not count against it. No list matches no machine.
 */
export function matchHardware(
  frozen: readonly HashedComponent[],
  live: readonly HardwareComponent[],
  key: Uint8Array,
): HardwareMatch {
  const bound = distinct(frozen);
  const present = new Set(hashComponents(live, key).map(identify));
  const drifted = bound.filter((one) => !present.has(identify(one))).map(({ kind }) => kind);
  const matching = bound.length - drifted.length;
  const needed = Math.ceil((bound.length * 3) / 5);
  return {
    matchingCount: matching,
    requiredCount: needed,
    missingKinds: drifted,
    isMatch: bound.length > 0 && matching >= needed,
  };
}

/** Too little to tell one machine from its copy. */
export const isWeakBinding = (frozen: readonly HashedComponent[]): boolean =>
  distinct(frozen).length < 2 || frozen.some(({ kind }) => kind === "named");

/** The kind is hashed along: a disk whose serial is the board's is still not the board. */
function digestOf(kind: ComponentKind, value: string, key: Uint8Array): string {
  const hasher = new Bun.CryptoHasher("sha256", key);
  for (const part of ["berth-component-v1", kind, value]) hasher.update(lengthAndBytes(part));
  return hasher.digest("hex");
}

/** A 4-byte big-endian length before the bytes: no two lists of texts run together alike. */
function lengthAndBytes(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new TextEncoder().encode(text);
  const framed = new Uint8Array(4 + bytes.length);
  new DataView(framed.buffer).setUint32(0, bytes.length);
  framed.set(bytes, 4);
  return framed;
}

const distinct = (frozen: readonly HashedComponent[]): HashedComponent[] =>
  [...new Map(frozen.map((one) => [identify(one), one])).values()].toSorted(byKindAndDigest);

const identify = ({ kind, digest }: HashedComponent): string => `${kind} ${digest}`;

/** By code unit: a locale must not change what a license signed. */
function byKindAndDigest(a: HashedComponent, b: HashedComponent): number {
  const [left, right] = [identify(a), identify(b)];
  return left < right ? -1 : Number(left > right);
}
