import { wallClock } from "../platform/clock.ts";
import { Misuse, type Option } from "../platform/options.ts";
import { isOutstanding, isSignedWithRetiredKey, listLicenses } from "../desk/license-list.ts";
import { Failure, isFlagSet, type FlagValues } from "./command.ts";
import { option } from "./flags.ts";
import { checkOutputPath, outputDocument } from "./output-document.ts";
import { getNumberFlag, openDeskRecords } from "./open-desk.ts";
import { termsFlags } from "./terms-flags.ts";
import { printJson, printNote, printWarning } from "./terminal.ts";

export const reprintFlags: readonly Option[] = [
  {
    name: "reprint",
    type: "string",
    placeholder: "ID",
    help: "write a license from the ledger again, exactly as it was signed; needs no passphrase",
  },
  { ...option.serial, help: "with --reprint: the serial to write; default: the newest" },
];

/** Flags that say something about a license that is yet to be signed. */
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

/** Writes out a document of the ledger: nothing is signed, and nothing changes. */
export async function reprintLicense(given: FlagValues, id: number): Promise<void> {
  const other = SIGNING_FLAGS.find(({ name }) => given.values.has(name));
  if (other !== undefined) {
    throw new Misuse(
      `--reprint signs nothing and cannot be combined with --${other.name}`,
      "omit one of them",
    );
  }
  const serial = getNumberFlag(given, "serial");
  checkOutputPath(given, "license");
  const records = await openDeskRecords(given);
  const found = listLicenses(records.ledger, wallClock())
    .filter((one) => one.license_id === id && one.serial === (serial ?? one.serial))
    .toSorted((a, b) => b.serial - a.serial)[0];
  if (found === undefined) {
    const what = serial === null ? `license ${id}` : `serial ${serial} of license ${id}`;
    throw new Failure(`${what} is not in the ledger`, "berth vendor list --all shows all licenses");
  }
  const { document, license_key, ends_at, state } = found;
  const named = `license ${id}, serial ${found.serial},`;
  if (!isOutstanding(found)) printNote(`${named} is ${state}`);
  if (isSignedWithRetiredKey(records, found)) {
    printWarning(`${named} is signed with a key that is now retired; sites refuse it`);
  }
  if (isFlagSet(given, "json")) {
    const about = { license_id: id, serial: found.serial, license_key, valid_until: ends_at };
    printJson({ ...about, state, document });
  } else await outputDocument(given, document, named);
}
