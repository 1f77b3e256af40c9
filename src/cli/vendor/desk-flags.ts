import { ORDER_LIMITS } from "../../desk/orders/orders.ts";
import { flag, list, path, text } from "../frame/options.ts";
import { matchingNumber, parseHostCount, wholeNumber } from "../frame/option-parsers.ts";
import { parseApplianceId } from "./list-filters.ts";

/** The number of a license, or of one of its documents. */
const ledgerNumber = matchingNumber(
  /^\d{1,16}$/,
  "must be a number",
  "berth vendor list shows the numbers",
);

/** The flags that only `berth vendor` has. */
export const deskFlags = {
  anyDeskFolder: path("--dir DIR", "the desk's folder"),
  deskFolder: path("--dir DIR", "the desk's folder", {
    isRequired: true,
    missingHint: "specify the desk's folder",
  }),
  anyRootFolder: path("--root DIR", "the root's folder, if it is on this machine"),
  rootFolder: path("--root DIR", "the root's folder", {
    isRequired: true,
    missingHint: "specify the root's folder, for example --root /media/root",
  }),
  rootPassphraseFile: path(
    "--root-passphrase-file FILE",
    "file whose first line is the passphrase of the root; default: ask for it",
  ),
  passphraseFile: path(
    "--passphrase-file FILE",
    "file whose first line is the passphrase of the desk's key; default: ask for it",
  ),
  newPassphraseFile: path(
    "--new-passphrase-file FILE",
    "file whose first line is the new passphrase; default: ask for it",
  ),
  noPassphrase: flag(
    "--no-passphrase",
    "store the key without a passphrase: anyone who can read the file can sign licenses",
  ),
  name: text("--name NAME", "the vendor's name", { isRequired: true }),
  vendorProducts: list(
    "--product CODE",
    "a product code that the vendor licenses; can be repeated",
    { isRequired: true },
  ),
  request: path("--request FILE", "the site's license request"),
  renew: text(
    "--renew ID",
    "renew this license from the ledger, without a request; terms that are not given stay the same",
    { parse: ledgerNumber },
  ),
  reprint: text(
    "--reprint ID",
    "write a license from the ledger again, exactly as it was signed; needs no passphrase",
    { parse: ledgerNumber },
  ),
  licenseId: text("--license-id ID", "the license to continue", { parse: ledgerNumber }),
  newLicense: flag("--new", "issue an additional license"),
  hosts: text(
    "--hosts N",
    "hosts that the license is for, 1 or 2; default: as the license that it renews, or 1",
    { parse: parseHostCount },
  ),
  allowWeakBinding: flag(
    "--allow-weak-binding",
    "accept an appliance with too few identifiable hardware components",
  ),
  acceptFork: text(
    "--accept-fork REASON",
    "accept a request or a statement that does not continue the last one seen, or a request with a returned license or a second restore",
  ),
  activationCode: text("--activation-code CODE", "the activation code that the site read out"),
  writeOff: text(
    "--write-off APPLIANCE",
    "the machine of this appliance is lost: the new license takes its place; needs --reason",
    { parse: parseApplianceId },
  ),
  reason: text("--reason TEXT", "why; the ledger keeps it"),
  preset: text("--preset NAME", "terms from presets/NAME.json in the desk's folder"),
  appliances: text("--appliances N", "appliances that may hold the order at a time; default 1", {
    parse: wholeNumber(1, ORDER_LIMITS.appliances, "a number of appliances", "--appliances 2"),
  }),
  moves: text("--moves N", "moves in any 365 days that need no person; default 1", {
    parse: wholeNumber(0, ORDER_LIMITS.moves, "a number of moves", "--moves 2"),
  }),
  orderHosts: text("--hosts N", "hosts that each license is for, 1 or 2; default 1", {
    parse: parseHostCount,
  }),
  orderPolicy: text(
    "--policy-id ID",
    "the policy whose codes may be confirmed for the order, or none (default)",
  ),
  outDir: path("--out-dir DIR", "folder for the answers; default: beside the documents"),
  serial: text("--serial N", "the serial; default: the next", { parse: ledgerNumber }),
};
