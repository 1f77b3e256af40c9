import { wallClock } from "../../platform/clock.ts";
import { Misuse } from "../frame/options.ts";
import {
  isOutstanding,
  isSignedWithRetiredKey,
  listLicenses,
} from "../../desk/ledger/license-list.ts";
import { Failure } from "../frame/command.ts";
import type { SetOption } from "../frame/define-command.ts";
import { option } from "../frame/flags.ts";
import type { JsonOutcome } from "../frame/outcome.ts";
import { checkOutputPath, outputDocument } from "../files/output-document.ts";
import { openDeskRecords } from "./open-desk.ts";
import { termsOptions } from "./terms-flags.ts";

/** The options for signing a license, which --reprint does not do. */
const SIGNING_OPTIONS = [
  option.request,
  option.renew,
  option.licenseId,
  option.newLicense,
  option.licenseKey,
  option.allowWeakBinding,
  option.acceptFork,
  option.dryRun,
  ...Object.values(termsOptions),
] as const;

interface ReprintOptions {
  readonly dir: string;
  readonly serial: number | null;
  readonly out: string | null;
  readonly qr: boolean;
  readonly json: boolean;
}

/** Outputs a license from the ledger; signs nothing and changes nothing. */
export async function reprintLicense(
  id: number,
  { dir, serial, out, qr, json }: ReprintOptions,
  setOptions: readonly SetOption[],
): Promise<JsonOutcome> {
  const isSet = (name: string): boolean => setOptions.some((set) => set.name === name);
  const conflict = SIGNING_OPTIONS.find(({ name }) => isSet(name));
  if (conflict !== undefined) {
    throw new Misuse(
      `--reprint signs nothing and cannot be combined with --${conflict.name}`,
      "omit one of them",
    );
  }
  checkOutputPath({ out, json }, "license");
  const records = await openDeskRecords(dir);
  const license = listLicenses(records.ledger, wallClock())
    .filter((license) => license.license_id === id && license.serial === (serial ?? license.serial))
    .toSorted((a, b) => b.serial - a.serial)[0];
  if (license === undefined) {
    const what = serial === null ? `license ${id}` : `serial ${serial} of license ${id}`;
    throw new Failure(`${what} is not in the ledger`, "berth vendor list --all shows all licenses");
  }
  const { document, license_key, ends_at, state } = license;
  const name = `license ${id}, serial ${license.serial},`;
  return {
    notes: isOutstanding(license) ? [] : [`${name} is ${state}`],
    warnings: isSignedWithRetiredKey(records, license)
      ? [`${name} is signed with a key that is now retired; sites refuse it`]
      : [],
    json: {
      license_id: id,
      serial: license.serial,
      license_key,
      valid_until: ends_at,
      state,
      document,
    },
    text: () => outputDocument({ out, qr }, document, name),
  };
}
