import { csvRecord } from "../../domain/csv.ts";
import { later, type Instant } from "../../domain/time.ts";
import { wallClock } from "../../platform/clock.ts";
import { Misuse, type Option, type InvalidValue } from "../../platform/options.ts";
import {
  filterLicenses,
  LICENSE_STATES,
  findLicensesToReissue,
  listLicenses,
  filterNewestSerials,
  type LicenseFilter,
  type LicenseState,
  type ListedLicense,
} from "../../desk/license-list.ts";
import type { DeskRecords } from "../../desk/desk-records.ts";
import { EXIT_OK, isFlagSet, getStringFlag, type Command, type FlagValues } from "../command.ts";
import { option } from "../flags.ts";
import { deskFolderFlag, openDeskRecords } from "../open-desk.ts";
import { checkOneOf } from "../settings.ts";
import { parseDuration } from "../duration.ts";
import { formatCount, print, printCsv, printJson, formatTable } from "../terminal.ts";

const text = (name: string, value: string, help: string, check?: Option["check"]): Option => ({
  name,
  type: "string",
  placeholder: value,
  help,
  check: check ?? ((given) => (given === "" ? { problem: "must not be empty", hint: help } : null)),
});

/** `not-yet-started` needs no quotes in a shell. */
const unhyphenate = (state: string | null) => state?.replaceAll("-", " ") ?? null;

const filters: readonly Option[] = [
  text("product", "CODE", "only licenses of this product"),
  text("customer", "TEXT", "only customers whose name contains this text"),
  text("appliance", "ID", "only licenses for this appliance", (given) =>
    /^[0-9A-HJKMNP-TV-Z]{16}$/.test(String(given))
      ? null
      : {
          problem: "must be an appliance id",
          hint: "16 letters and digits, as shown by berth status",
        },
  ),
  text("license-key", "KEY", "only licenses with this license key"),
  text("state", "STATE", `only licenses in this state: ${LICENSE_STATES.join(", ")}`, (given) =>
    checkOneOf(...LICENSE_STATES)(unhyphenate(String(given)) ?? ""),
  ),
  text(
    "ending-within",
    "DURATION",
    "only licenses that end within this time, for example 60d, 8w or 48h",
    (given) => checkEnding(String(given)),
  ),
];

/** Elsewhere `m` is minutes, and whoever looks at the ends of licenses means months. */
function checkEnding(given: string): InvalidValue | null {
  const [, months] = /^([1-9]\d{0,2})m$/.exec(given) ?? [];
  if (months === undefined && !given.endsWith("m") && parseDuration(given) !== null) return null;
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
  async run(given) {
    if (isFlagSet(given, "csv") && isFlagSet(given, "json")) {
      throw new Misuse("--csv and --json exclude each other", "use only one of them");
    }
    const now = wallClock();
    const records = await openDeskRecords(given);
    const filter = readFilter(given, records, now);
    const every = listLicenses(records.ledger, now);
    // Older serials are in one of these states alone: nobody asks for it and wants none of them.
    const isAll = isFlagSet(given, "all") || filter.state === "replaced";
    const chosen = isFlagSet(given, "to-reissue")
      ? findLicensesToReissue(records, now)
      : isAll
        ? every
        : filterNewestSerials(every);
    const found = filterLicenses(chosen, filter);
    if (isFlagSet(given, "json")) printJson(found.map(jsonOf));
    else if (isFlagSet(given, "csv")) printCsv([CSV_HEADER, ...found.map(csvCells)].map(csvRecord));
    else if (every.length === 0) print("no licenses were issued yet");
    else if (found.length === 0) print("no license matches");
    else print(formatTable([HEADER, ...found.map(cells)]));
    return EXIT_OK;
  },
};

function readFilter(
  given: FlagValues,
  { vendor, ledger }: DeskRecords,
  now: Instant,
): LicenseFilter {
  const product = getStringFlag(given, "product");
  const products = new Set([
    ...vendor.products,
    ...ledger.issuedEntries().map((one) => one.terms.product),
  ]);
  if (product !== null && !products.has(product)) {
    throw new Misuse(
      `--product ${product} is not a product of this desk`,
      `its products: ${[...products].join(", ")}`,
    );
  }
  const ending = getStringFlag(given, "ending-within");
  const span = ending === null ? null : parseDuration(ending);
  return {
    product,
    customer: getStringFlag(given, "customer"),
    appliance: getStringFlag(given, "appliance"),
    licenseKey: getStringFlag(given, "license-key"),
    state: unhyphenate(getStringFlag(given, "state")) as LicenseState | null,
    endingBefore: span === null ? null : later(now, span),
  };
}

/** As it is on the ledger, with the name of its time that the CSV has too. */
const jsonOf = ({ at, ...license }: ListedLicense) => ({ ...license, issued_at: at });

const HEADER = words("LICENSE SERIAL CUSTOMER PRODUCT SLOTS ENDS STATE APPLIANCE KEY");

const cells = (one: ListedLicense): string[] => [
  String(one.license_id),
  String(one.serial),
  one.customer ?? "-",
  one.product,
  String(one.slots),
  one.ends_at?.replace(".000Z", "Z") ?? "never",
  one.state,
  one.appliance,
  one.license_key ?? "-",
];

const CSV_HEADER = words(
  "license_id serial customer product slots ends_at state appliance license_key issued_at",
);

const csvCells = (one: ListedLicense): string[] => [
  String(one.license_id),
  String(one.serial),
  one.customer ?? "",
  one.product,
  String(one.slots),
  one.ends_at ?? "",
  one.state,
  one.appliance,
  one.license_key ?? "",
  one.at,
];

function words(names: string): string[] {
  return names.split(" ");
}
