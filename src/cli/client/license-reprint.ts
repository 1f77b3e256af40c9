import { wallClock } from "../../platform/clock.ts";
import { Misuse, type Option } from "../../platform/options.ts";
import { isOutstanding, isSignedWithRetiredKey, listLicenses } from "../../desk/license-list.ts";
import { Failure, readOutputFlags, isFlagSet, type FlagValues } from "../frame/command.ts";
import { option } from "../frame/flags.ts";
import { checkOutputPath, outputDocument } from "../files/output-document.ts";
import { getDeskFolder, getNumberFlag, openDeskRecords } from "../vendor/open-desk.ts";
import { termsFlags } from "../vendor/terms-flags.ts";
import { printJson, printNote, printParts, printWarning } from "../frame/terminal.ts";

export const reprintFlags: readonly Option[] = [
  {
    name: "reprint",
    type: "string",
    placeholder: "ID",
    help: "write a license from the ledger again, exactly as it was signed; needs no passphrase",
  },
  { ...option.serial, help: "with --reprint: the serial to write; default: the newest" },
];

/** Flags for signing a license, which --reprint does not do. */
const SIGNING_FLAGS: readonly Option[] = [
  option.request,
  option.renew,
  option.licenseId,
  option.newLicense,
  option.licenseKey,
  option.allowWeakBinding,
  option.acceptFork,
  option.dryRun,
  ...termsFlags,
];

/** Outputs a license from the ledger; signs nothing and changes nothing. */
export async function reprintLicense(flags: FlagValues, id: number): Promise<void> {
  const conflict = SIGNING_FLAGS.find(({ name }) => flags.values.has(name));
  if (conflict !== undefined) {
    throw new Misuse(
      `--reprint signs nothing and cannot be combined with --${conflict.name}`,
      "omit one of them",
    );
  }
  const serial = getNumberFlag(flags, "serial");
  checkOutputPath(readOutputFlags(flags), "license");
  const records = await openDeskRecords(getDeskFolder(flags));
  const license = listLicenses(records.ledger, wallClock())
    .filter((license) => license.license_id === id && license.serial === (serial ?? license.serial))
    .toSorted((a, b) => b.serial - a.serial)[0];
  if (license === undefined) {
    const what = serial === null ? `license ${id}` : `serial ${serial} of license ${id}`;
    throw new Failure(`${what} is not in the ledger`, "berth vendor list --all shows all licenses");
  }
  const { document, license_key, ends_at, state } = license;
  const name = `license ${id}, serial ${license.serial},`;
  if (!isOutstanding(license)) printNote(`${name} is ${state}`);
  if (isSignedWithRetiredKey(records, license)) {
    printWarning(`${name} is signed with a key that is now retired; sites refuse it`);
  }
  if (isFlagSet(flags, "json")) {
    const facts = { license_id: id, serial: license.serial, license_key, valid_until: ends_at };
    printJson({ ...facts, state, document });
  } else printParts(await outputDocument(readOutputFlags(flags), document, name));
}
