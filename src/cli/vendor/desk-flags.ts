import type { Option } from "../frame/options.ts";
import { matchingNumber, parseHostCount } from "../frame/option-parsers.ts";

/** The number of a license, or of one of its documents. */
const ledgerNumber = matchingNumber(/^\d{1,16}$/, {
  problem: "must be a number",
  hint: "berth vendor list shows the numbers",
});

/** The flags that only `berth vendor` has. */
export const deskFlags = {
  anyDeskFolder: {
    name: "dir",
    type: "string",
    placeholder: "DIR",
    help: "the desk's folder",
    isPath: true,
  },
  deskFolder: {
    name: "dir",
    type: "string",
    placeholder: "DIR",
    help: "the desk's folder",
    isPath: true,
    isRequired: true,
    missingHint: "specify the desk's folder",
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
    parse: ledgerNumber,
  },
  reprint: {
    name: "reprint",
    type: "string",
    placeholder: "ID",
    help: "write a license from the ledger again, exactly as it was signed; needs no passphrase",
    parse: ledgerNumber,
  },
  licenseId: {
    name: "license-id",
    type: "string",
    placeholder: "ID",
    help: "the license to continue",
    parse: ledgerNumber,
  },
  newLicense: { name: "new", type: "boolean", help: "issue an additional license" },
  hosts: {
    name: "hosts",
    type: "string",
    placeholder: "N",
    help: "hosts that the license is for, 1 or 2; default: as the license that it renews, or 1",
    parse: parseHostCount,
  },
  allowWeakBinding: {
    name: "allow-weak-binding",
    type: "boolean",
    help: "accept an appliance with too few identifiable hardware components",
  },
  acceptFork: {
    name: "accept-fork",
    type: "string",
    placeholder: "REASON",
    help: "accept a request or a statement that does not continue the last one seen, or a request with a returned license or a second restore",
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
    parse: ledgerNumber,
  },
} as const satisfies Readonly<Record<string, Option>>;
