import { csvRecord } from "../../../domain/text/csv.ts";
import { later, type Instant } from "../../../domain/time.ts";
import { wallClock } from "../../../platform/clock.ts";
import { Misuse, type Option, type InvalidValue } from "../../../platform/options.ts";
import {
  filterLicenses,
  LICENSE_STATES,
  findLicensesToReissue,
  listLicenses,
  filterNewestSerials,
  type LicenseFilter,
  type LicenseState,
  type ListedLicense,
} from "../../../desk/license-list.ts";
import type { DeskRecords } from "../../../desk/desk-records.ts";
import {
  EXIT_OK,
  isFlagSet,
  getStringFlag,
  type Command,
  type FlagValues,
} from "../../frame/command.ts";
import { option } from "../../frame/flags.ts";
import { deskFolderFlag, openDeskRecords } from "../../vendor/open-desk.ts";
import { checkOneOf } from "../../serve/settings.ts";
import { parseDuration } from "../../frame/duration.ts";
import { formatCount, print, printCsv, printJson, formatTable } from "../../frame/terminal.ts";

const textFlag = (
  name: string,
  placeholder: string,
  help: string,
  check?: Option["check"],
): Option => ({
  name,
  type: "string",
  placeholder,
  help,
  check: check ?? ((value) => (value === "" ? { problem: "must not be empty", hint: help } : null)),
});

/** `not-yet-started` needs no quotes in a shell. */
const unhyphenate = (state: string | null) => state?.replaceAll("-", " ") ?? null;

const filters: readonly Option[] = [
  textFlag("product", "CODE", "only licenses of this product"),
  textFlag("customer", "TEXT", "only customers whose name contains this text"),
  textFlag("appliance", "ID", "only licenses for this appliance", (value) =>
    /^[0-9A-HJKMNP-TV-Z]{16}$/.test(String(value))
      ? null
      : {
          problem: "must be an appliance id",
          hint: "16 letters and digits, as shown by berth status",
        },
  ),
  textFlag("license-key", "KEY", "only licenses with this license key"),
  textFlag("state", "STATE", `only licenses in this state: ${LICENSE_STATES.join(", ")}`, (value) =>
    checkOneOf(...LICENSE_STATES)(unhyphenate(String(value)) ?? ""),
  ),
  textFlag(
    "ending-within",
    "DURATION",
    "only licenses that expire within this time, for example 60d, 8w or 48h",
    (value) => checkEnding(String(value)),
  ),
];

/** Elsewhere `m` means minutes, but for the end of a license it probably means months. */
function checkEnding(value: string): InvalidValue | null {
  const [, months] = /^([1-9]\d{0,2})m$/.exec(value) ?? [];
  if (months === undefined && !value.endsWith("m") && parseDuration(value) !== null) return null;
  const hint =
    months === undefined
      ? "for example --ending-within 60d"
      : `m means minutes; for ${formatCount(Number(months), "month")}: --ending-within ${Number(months) * 30}d`;
  return { problem: "must be a number of hours, days or weeks", hint };
}

export const listCommand: Command = {
  name: "vendor list",
  isCommon: true,
  summary: "list the licenses that this desk issued and their states; needs no passphrase",
  options: [
    deskFolderFlag,
    ...filters,
    {
      name: "all",
      type: "boolean",
      help: "show every serial, including those replaced by a newer one",
    },
    {
      name: "to-reissue",
      type: "boolean",
      help: "only licenses in use that were signed with a key that is now retired",
    },
    { name: "csv", type: "boolean", help: "print CSV" },
    option.json,
  ],
  examples: [
    "berth vendor list --dir desk",
    "berth vendor list --dir desk --ending-within 60d",
    "berth vendor list --dir desk --customer initech --state active --csv > licenses.csv",
  ],
  async run(flags) {
    if (isFlagSet(flags, "csv") && isFlagSet(flags, "json")) {
      throw new Misuse("--csv and --json cannot be combined", "use only one of them");
    }
    const now = wallClock();
    const records = await openDeskRecords(flags);
    const filter = readFilter(flags, records, now);
    const licenses = listLicenses(records.ledger, now);
    // Only older serials have the state `replaced`, so this filter implies --all.
    const isAll = isFlagSet(flags, "all") || filter.state === "replaced";
    const candidates = isFlagSet(flags, "to-reissue")
      ? findLicensesToReissue(records, now)
      : isAll
        ? licenses
        : filterNewestSerials(licenses);
    const matches = filterLicenses(candidates, filter);
    if (isFlagSet(flags, "json")) printJson(matches.map(jsonOf));
    else if (isFlagSet(flags, "csv"))
      printCsv([CSV_HEADER, ...matches.map(csvCells)].map(csvRecord));
    else if (licenses.length === 0) print("no licenses were issued yet");
    else if (matches.length === 0) print("no license matches");
    else print(formatTable([HEADER, ...matches.map(cells)]));
    return EXIT_OK;
  },
};

function readFilter(
  flags: FlagValues,
  { vendor, ledger }: DeskRecords,
  now: Instant,
): LicenseFilter {
  const product = getStringFlag(flags, "product");
  const products = new Set([
    ...vendor.products,
    ...ledger.issuedEntries().map(({ terms }) => terms.product),
  ]);
  if (product !== null && !products.has(product)) {
    throw new Misuse(
      `--product ${product} is not a product of this desk`,
      `its products: ${[...products].join(", ")}`,
    );
  }
  const ending = getStringFlag(flags, "ending-within");
  const duration = ending === null ? null : parseDuration(ending);
  return {
    product,
    customer: getStringFlag(flags, "customer"),
    appliance: getStringFlag(flags, "appliance"),
    licenseKey: getStringFlag(flags, "license-key"),
    state: unhyphenate(getStringFlag(flags, "state")) as LicenseState | null,
    endingBefore: duration === null ? null : later(now, duration),
  };
}

/** As in the ledger, but with the time named as in the CSV. */
const jsonOf = ({ at, ...license }: ListedLicense) => ({ ...license, issued_at: at });

const HEADER = words("LICENSE SERIAL CUSTOMER PRODUCT SLOTS EXPIRES STATE APPLIANCE KEY");

const cells = (license: ListedLicense): string[] => [
  String(license.license_id),
  String(license.serial),
  license.customer ?? "-",
  license.product,
  String(license.slots),
  license.ends_at?.replace(".000Z", "Z") ?? "never",
  license.state,
  license.appliance,
  license.license_key ?? "-",
];

const CSV_HEADER = words(
  "license_id serial customer product slots ends_at state appliance license_key issued_at",
);

const csvCells = (license: ListedLicense): string[] => [
  String(license.license_id),
  String(license.serial),
  license.customer ?? "",
  license.product,
  String(license.slots),
  license.ends_at ?? "",
  license.state,
  license.appliance,
  license.license_key ?? "",
  license.at,
];

function words(names: string): string[] {
  return names.split(" ");
}
