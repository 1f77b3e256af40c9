import type { Option } from "../../platform/options.ts";

/** The flags that only `berth vendor` has. */
export const deskFlags = {
  deskFolder: {
    name: "dir",
    type: "string",
    placeholder: "DIR",
    help: "the desk's folder",
    isPath: true,
  },
  passphraseFile: {
    name: "passphrase-file",
    type: "string",
    placeholder: "FILE",
    help: "file whose first line is the passphrase of the vendor's key; default: ask for it",
    isPath: true,
  },
  newPassphraseFile: {
    name: "new-passphrase-file",
    type: "string",
    placeholder: "FILE",
    help: "file whose first line is the new passphrase; default: ask for it",
    isPath: true,
  },
  noPassphrase: {
    name: "no-passphrase",
    type: "boolean",
    help: "store the key without a passphrase: anyone who can read the file can sign licenses",
  },
  name: {
    name: "name",
    type: "string",
    placeholder: "NAME",
    help: "the vendor's name",
    isRequired: true,
  },
  vendorProducts: {
    name: "product",
    type: "list",
    placeholder: "CODE",
    help: "a product code that the vendor licenses; can be repeated",
    isRequired: true,
  },
  request: {
    name: "request",
    type: "string",
    placeholder: "FILE",
    help: "the site's license request",
    isPath: true,
  },
  renew: {
    name: "renew",
    type: "string",
    placeholder: "ID",
    help: "renew this license from the ledger, without a request; terms that are not given stay the same",
  },
  licenseId: {
    name: "license-id",
    type: "string",
    placeholder: "ID",
    help: "the license to continue",
  },
  newLicense: { name: "new", type: "boolean", help: "issue an additional license" },
  allowWeakBinding: {
    name: "allow-weak-binding",
    type: "boolean",
    help: "accept an appliance with too few identifiable hardware components",
  },
  acceptFork: {
    name: "accept-fork",
    type: "string",
    placeholder: "REASON",
    help: "accept a request whose audit log does not continue the last one seen, or that lists a returned license",
  },
  activationCode: {
    name: "activation-code",
    type: "string",
    placeholder: "CODE",
    help: "the activation code that the site read out",
  },
  serial: {
    name: "serial",
    type: "string",
    placeholder: "N",
    help: "the serial; default: the next",
  },
} as const satisfies Readonly<Record<string, Option>>;
