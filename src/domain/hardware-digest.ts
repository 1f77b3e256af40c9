/** A characteristic of a machine, hashed for this appliance. */
export interface HardwareDigest {
  readonly kind: string;
  readonly digest: string;
}
