import { instant, SECOND, type Instant } from "../../../domain/time.ts";
import { fingerprintOf } from "../../../license/keys.ts";
import { MAX_KEYS_IN_0_1_0 } from "../../../license/trust.ts";
import { isDateOnly, parseStartTime } from "../../../license/term-times.ts";
import { wallClock } from "../../../platform/clock.ts";
import { realDisk } from "../../../platform/disk.ts";
import { Misuse } from "../../../platform/options.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import { findEarlierKeyIds, isKeyEncrypted } from "../../../desk/key-file.ts";
import { findLicensesToReissue, type ListedLicense } from "../../../desk/license-list.ts";
import { successorFileName } from "../../../desk/desk-records.ts";
import { refuseTooManyKeys } from "../../../desk/trust-document.ts";
import {
  EXIT_OK,
  isFlagSet,
  getStringFlag,
  type Command,
  type FlagValues,
} from "../../frame/command.ts";
import { option } from "../../frame/flags.ts";
import {
  checkNewPassphraseFlags,
  deskFlags,
  getDeskFolder,
  formatDirFlag,
} from "../../vendor/open-desk.ts";
import { readNewPassphrase, openDesk } from "../../vendor/open-desk.ts";
import {
  formatCount,
  escapeToOneLine,
  print,
  printJson,
  printNote,
  printWarning,
} from "../../frame/terminal.ts";

export const successorCommand: Command = {
  name: "vendor successor",
  summary: "create a new key; with --retire-old, sites reject new documents signed with an old key",
  options: [
    ...deskFlags,
    option.noPassphrase,
    {
      name: "retire-old",
      type: "boolean",
      help: "retire all earlier keys: sites that have the new document reject new documents signed with them",
    },
    {
      name: "retire-from",
      type: "string",
      placeholder: "DAY",
      help: "retire them at the start of this day (UTC, by the site's clock); default: immediately",
    },
    option.json,
  ],
  examples: [
    "berth vendor successor --dir desk",
    "berth vendor successor --dir desk --retire-old",
    "berth vendor successor --dir desk --retire-old --retire-from 2027-01-01",
  ],
  async run(flags) {
    const from = readFromFlag(flags);
    if (from !== null && !isFlagSet(flags, "retire-old")) {
      throw new Misuse(
        "--retire-from is only valid with --retire-old",
        "berth help vendor successor",
      );
    }
    checkNewPassphraseFlags(flags, "passphrase-file");
    const folder = getDeskFolder(flags);
    const oldDesk = await openDesk(flags);
    refuseTooManyKeys(oldDesk.vendor);
    const passphrase = await readNewPassphrase(flags, "passphrase-file");
    const retire = isFlagSet(flags, "retire-old") ? { from } : null;
    const newDesk = await oldDesk.rotateKey(realDisk, folder, passphrase, retire);
    const { vendor, version, retired = [] } = newDesk.vendor;
    const fingerprint = fingerprintOf(newDesk.key);
    const document = successorFileName(version);
    if (newDesk.vendor.keys.length > MAX_KEYS_IN_0_1_0) {
      const limit = `sites of Berth 0.1.0 refuse a document with more than ${MAX_KEYS_IN_0_1_0} keys`;
      printWarning(`${limit}, and ${document} has more: update those sites before you add it`);
    }
    const reissue = findLicensesToReissue(newDesk, wallClock());
    if (from !== null && from <= wallClock()) {
      printNote(
        "the day of --retire-from is in the past: the retirement takes effect immediately at each site",
      );
    }
    if (passphrase !== null) warnOfPlainKeys(folder);
    if (isFlagSet(flags, "json")) {
      const to_reissue = reissue.map(({ license_id }) => license_id);
      printJson({ vendor, fingerprint, document, retired, to_reissue });
      return EXIT_OK;
    }
    print(`fingerprint ${fingerprint}`);
    print(`distribute a copy of ${document}; new sites need trust.jwt first`);
    print(`run on each site: berth trust add ${document}`);
    for (const { key, from: second } of retired) {
      const since = second === undefined ? "" : ` from ${rfc3339(instant(second * SECOND))} on`;
      print(`the key ${key} is retired${since}`);
    }
    printToReissue(reissue, formatDirFlag(folder));
    return EXIT_OK;
  },
};

/** The passphrase of the new key does not encrypt the files of the earlier keys. */
function warnOfPlainKeys(folder: string): void {
  for (const id of findEarlierKeyIds(realDisk, folder)) {
    if (isKeyEncrypted(realDisk, folder, id)) continue;
    const file = `the earlier key ${id}.vendor.jwk is stored without a passphrase`;
    printWarning(`${file}: berth vendor passphrase ${formatDirFlag(folder)} encrypts it too`);
  }
}

const MAX_SHOWN = 20;

/** They stay valid where they are installed, but sites accept nothing new from their key. */
function printToReissue(licenses: readonly ListedLicense[], dir: string): void {
  if (licenses.length === 0) return;
  print(
    `\n${formatCount(licenses.length, "license")} signed with a retired key should be re-issued:`,
  );
  for (const { license_id, jwk, customer } of licenses.slice(0, MAX_SHOWN)) {
    const command =
      jwk === null
        ? "by code: the site returns it first (berth license remove), then berth vendor policy and berth vendor confirm"
        : `berth vendor issue ${dir} --renew ${license_id} --out ${license_id}.jwt`;
    print(`  ${license_id} ${escapeToOneLine(customer ?? "-")}  ${command}`);
  }
  print(`berth vendor list ${dir} --to-reissue shows all of them`);
}

function readFromFlag(flags: FlagValues): Instant | null {
  const text = getStringFlag(flags, "retire-from");
  if (text === null) return null;
  const start = isDateOnly(text) ? parseStartTime(text) : null;
  if (start !== null && Date.parse(start) >= 0) return instant(Date.parse(start));
  throw new Misuse(`--retire-from ${escapeToOneLine(text)} is not a day`, "for example 2027-01-01");
}
