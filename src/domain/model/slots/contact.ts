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
  /** Whether a repeated request under one key must have the same value. */
  readonly isInFingerprint: boolean;
  /** The kind of its pseudonym in data that leaves the site. */
  readonly pseudonym: "host" | "address" | "info";
}

/** One row per member of a contact; a member without a row does not compile. */
export const CONTACT_FIELDS = {
  hostname: {
    apiName: "os_hostname",
    isOfMachine: true,
    isInFingerprint: true,
    pseudonym: "host",
  },
  ip: { apiName: "ip_local", isOfMachine: true, isInFingerprint: true, pseudonym: "address" },
  info: { apiName: "user_info", isOfMachine: false, isInFingerprint: true, pseudonym: "info" },
  // The address of the connection, which no request contains.
  peer: { apiName: "peer", isOfMachine: true, isInFingerprint: false, pseudonym: "address" },
} as const satisfies { readonly [K in keyof Contact]: ContactField<K> };

type ContactFields = typeof CONTACT_FIELDS;

/** The fields of the API with which a caller describes itself. */
export type SentContactName = ContactFields[Exclude<keyof Contact, "peer">]["apiName"];

const FIELD_NAMES = Object.keys(CONTACT_FIELDS) as (keyof Contact)[];
const MACHINE_FIELD_NAMES = FIELD_NAMES.filter(
  (name): name is keyof Machine => CONTACT_FIELDS[name].isOfMachine,
);

const EMPTY_CONTACT: Contact = { hostname: "", ip: "", info: "", peer: "" };

/** The contact of a caller of whom only a part is known. */
export const completeContact = (known: Partial<Contact>): Contact => ({
  ...EMPTY_CONTACT,
  ...known,
});

export const machineOf = ({ hostname, ip, peer }: Machine): Machine => ({ hostname, ip, peer });

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
  FIELD_NAMES.filter((name) => CONTACT_FIELDS[name].isInFingerprint).map((name) => contact[name]);

/** What the caller sent about itself, as far as it is recorded, under the names of the API. */
export const sentFieldsOf = (contact: Partial<Contact>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    FIELD_NAMES.flatMap((name) => {
      const value = name === "peer" ? undefined : contact[name];
      return value === undefined ? [] : [[CONTACT_FIELDS[name].apiName, value]];
    }),
  );
