import { err, ok, type Result } from "../../../domain/result.ts";
import type { RetiredKey } from "../../../domain/model/state.ts";
import { instant, SECOND, type Instant } from "../../../domain/time.ts";
import { fingerprintOf } from "../../../license/documents/keys.ts";
import { isDateOnly, parseStartTime } from "../../../license/terms/term-times.ts";
import { wallClock } from "../../../platform/clock.ts";
import { realDisk } from "../../../platform/files/disk.ts";
import { flag, Misuse, text, type InvalidValue } from "../../frame/options.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import { findEarlierKeyIds, isKeyEncrypted } from "../../../desk/key-file.ts";
import { findLicensesToReissue, type ListedLicense } from "../../../desk/ledger/license-list.ts";
import { successorFileName } from "../../../desk/desk-records.ts";
import { refuseTooManyKeys } from "../../../desk/trust-document.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import {
  checkNewPassphrase,
  deskOptions,
  formatDirFlag,
  openDesk,
  readNewPassphrase,
} from "../../vendor/open-desk.ts";
import { formatCount, escapeToOneLine } from "../../frame/terminal.ts";

export const successorCommand = defineCommand({
  name: "vendor successor",
  summary: "create a new key; with --retire-old, sites reject new documents signed with an old key",
  options: {
    ...deskOptions,
    noPassphrase: option.noPassphrase,
    retireOld: flag(
      "--retire-old",
      "retire all earlier keys: sites that have the new document reject new documents signed with them",
    ),
    retireFrom: text(
      "--retire-from DAY",
      "retire them at the start of this day (UTC, by the site's clock); default: immediately",
      { parse: parseRetireFrom },
    ),
    json: option.json,
  },
  examples: [
    "berth vendor successor --dir desk",
    "berth vendor successor --dir desk --retire-old",
    "berth vendor successor --dir desk --retire-old --retire-from 2027-01-01",
  ],
  async run({ retireOld, retireFrom, noPassphrase, ...options }) {
    if (retireFrom !== null && !retireOld) {
      throw new Misuse(
        "--retire-from is only valid with --retire-old",
        "berth help vendor successor",
      );
    }
    const { dir, passphraseFile } = options;
    const source = { noPassphrase, file: passphraseFile, flag: "--passphrase-file" } as const;
    checkNewPassphrase(source);
    const oldDesk = await openDesk(options);
    refuseTooManyKeys(oldDesk.vendor);
    const passphrase = await readNewPassphrase(source);
    const retire = retireOld ? { from: retireFrom } : null;
    const newDesk = await oldDesk.rotateKey(realDisk, dir, passphrase, retire);
    const { vendor, version, retired = [] } = newDesk.vendor;
    const fingerprint = fingerprintOf(newDesk.key);
    const document = successorFileName(version);
    const reissue = findLicensesToReissue(newDesk, wallClock());
    return {
      warnings: passphrase === null ? [] : describePlainKeys(dir),
      notes: retireFrom !== null && retireFrom <= wallClock() ? [PAST_RETIREMENT] : [],
      json: {
        vendor,
        fingerprint,
        document,
        retired,
        to_reissue: reissue.map(({ license_id }) => license_id),
      },
      text: [
        `fingerprint ${fingerprint}`,
        `distribute a copy of ${document}; new sites need trust.jwt first`,
        `run on each site: berth trust add ${document}`,
        ...retired.map(describeRetiredKey),
        ...describeReissue(reissue, formatDirFlag(dir)),
      ],
    };
  },
});

const PAST_RETIREMENT =
  "the day of --retire-from is in the past: the retirement takes effect immediately at each site";

function describeRetiredKey({ key, from }: RetiredKey): string {
  const since = from === undefined ? "" : ` from ${rfc3339(instant(from * SECOND))} on`;
  return `the key ${key} is retired${since}`;
}

/** The passphrase of the new key does not encrypt the files of the earlier keys. */
const describePlainKeys = (folder: string): string[] =>
  findEarlierKeyIds(realDisk, folder)
    .filter((id) => !isKeyEncrypted(realDisk, folder, id))
    .map((id) => {
      const file = `the earlier key ${id}.vendor.jwk is stored without a passphrase`;
      return `${file}: berth vendor passphrase ${formatDirFlag(folder)} encrypts it too`;
    });

const MAX_SHOWN = 20;

/** They stay valid where they are installed, but sites accept nothing new from their key. */
function describeReissue(licenses: readonly ListedLicense[], dir: string): string[] {
  if (licenses.length === 0) return [];
  const count = formatCount(licenses.length, "license");
  return [
    `\n${count} signed with a retired key should be re-issued:`,
    ...licenses.slice(0, MAX_SHOWN).map(({ license_id, jwk, customer }) => {
      const command =
        jwk === null
          ? "by code: the site returns it first (berth license remove), then berth vendor policy and berth vendor confirm"
          : `berth vendor issue ${dir} --renew ${license_id} --out ${license_id}.jwt`;
      return `  ${license_id} ${escapeToOneLine(customer ?? "-")}  ${command}`;
    }),
    `berth vendor list ${dir} --to-reissue shows all of them`,
  ];
}

function parseRetireFrom(text: string): Result<Instant, InvalidValue> {
  const start = isDateOnly(text) ? parseStartTime(text) : null;
  if (start !== null && Date.parse(start) >= 0) return ok(instant(Date.parse(start)));
  const problem = `${escapeToOneLine(text)} is not a day`;
  return err({ problem, hint: "for example 2027-01-01" });
}
