/**
 * Where the holder last called from: what it says about itself, and the address of the connection.
 */
export interface Contact {
  readonly hostname: string;
  readonly ip: string;
  readonly info: string;
  readonly peer: string;
}

/** The machine a slot is used from, without the free text that the caller may send about itself. */
export type Machine = Omit<Contact, "info">;

interface ContactField<K extends keyof Contact> {
  /** The field of the API. */
  readonly apiName: string;
  /** Whether another value means another machine, which the audit log records. */
  readonly isOfMachine: K extends keyof Machine ? true : false;
  /**
   * Whether a repeated request under one key must have the same value. A field that was added later
   * is left out while it is empty: keys that earlier versions stored must still match.
   */
  readonly fingerprint: "always" | "unless empty" | "never";
  /** The kind of its pseudonym in data that leaves the site. */
  readonly pseudonym: "host" | "address" | "info";
}

/** One row per member of a contact; a member without a row does not compile. */
export const CONTACT_FIELDS = {
  hostname: {
    apiName: "os_hostname",
    isOfMachine: true,
    fingerprint: "always",
    pseudonym: "host",
  },
  ip: { apiName: "ip_local", isOfMachine: true, fingerprint: "always", pseudonym: "address" },
  info: { apiName: "user_info", isOfMachine: false, fingerprint: "always", pseudonym: "info" },
  // The address of the connection, which no request contains.
  peer: { apiName: "peer", isOfMachine: true, fingerprint: "never", pseudonym: "address" },
} as const satisfies { readonly [K in keyof Contact]: ContactField<K> };

type ContactFields = typeof CONTACT_FIELDS;

/** The fields of the API with which a caller describes itself. */
export type SentContactName = ContactFields[Exclude<keyof Contact, "peer">]["apiName"];

const FIELD_NAMES = Object.keys(CONTACT_FIELDS) as (keyof Contact)[];
const MACHINE_FIELD_NAMES = FIELD_NAMES.filter(
  (name): name is keyof Machine => CONTACT_FIELDS[name].isOfMachine,
);

/** For lines that older versions wrote, without the fields that were added since. */
const EMPTY_CONTACT: Contact = { hostname: "", ip: "", info: "", peer: "" };

export const completeContact = (recorded: Partial<Contact>): Contact => ({
  ...EMPTY_CONTACT,
  ...recorded,
});

export const machineOf = ({ hostname, ip, peer }: Contact): Machine => ({ hostname, ip, peer });

export function isSameMachine(a: Machine, b: Machine): boolean {
  for (const name of MACHINE_FIELD_NAMES) if (a[name] !== b[name]) return false;
  return true;
}

export function isSameContact(a: Contact, b: Contact): boolean {
  for (const name of FIELD_NAMES) if (a[name] !== b[name]) return false;
  return true;
}

/** The values that a repeated request under one key must have again. */
export const fingerprintPartsOf = (contact: Contact): string[] =>
  FIELD_NAMES.filter((name) => isInFingerprint(CONTACT_FIELDS[name], contact[name])).map(
    (name) => contact[name],
  );

const isInFingerprint = (
  { fingerprint }: Pick<ContactField<keyof Contact>, "fingerprint">,
  value: string,
): boolean => fingerprint === "always" || (fingerprint === "unless empty" && value !== "");

/** What the caller sent about itself, as far as it is recorded, under the names of the API. */
export const sentFieldsOf = (contact: Partial<Contact>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    FIELD_NAMES.flatMap((name) => {
      const value = name === "peer" ? undefined : contact[name];
      return value === undefined ? [] : [[CONTACT_FIELDS[name].apiName, value]];
    }),
  );
