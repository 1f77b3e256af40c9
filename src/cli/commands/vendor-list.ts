import { csvRecord } from "../../domain/csv.ts";
import { later, type Instant } from "../../domain/time.ts";
import { wallClock } from "../../platform/clock.ts";
import { Misuse, type Option, type Wrong } from "../../platform/options.ts";
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
import { DONE, isSet, stringOf, type Command, type Given } from "../command.ts";
import { option } from "../flags.ts";
import { deskFolderFlag, openDeskRecords } from "../open-desk.ts";
import { oneOf } from "../settings.ts";
import { spanOf } from "../span.ts";
import { count, print, printCsv, printJson, table } from "../terminal.ts";

const text = (name: string, value: string, help: string, check?: Option["check"]): Option => ({
  name,
  type: "string",
  value,
  help,
  check: check ?? ((given) => (given === "" ? { wrong: "must not be empty", hint: help } : null)),
});

/** `not-yet-started` needs no quotes in a shell. */
const spaced = (state: string | null) => state?.replaceAll("-", " ") ?? null;

const filters: readonly Option[] = [
  text("product", "CODE", "only licenses of this product"),
  text("customer", "TEXT", "only customers whose name contains this text"),
  text("appliance", "ID", "only licenses for this appliance", (given) =>
    /^[0-9A-HJKMNP-TV-Z]{16}$/.test(String(given))
      ? null
      : {
          wrong: "must be an appliance id",
          hint: "16 letters and digits, as shown by berth status",
        },
  ),
  text("license-key", "KEY", "only licenses with this license key"),
  text("state", "STATE", `only licenses in this state: ${LICENSE_STATES.join(", ")}`, (given) =>
    oneOf(...LICENSE_STATES)(spaced(String(given)) ?? ""),
  ),
  text(
    "ending-within",
    "DURATION",
    "only licenses that end within this time, for example 60d, 8w or 48h",
    (given) => endingFault(String(given)),
  ),
];

/** Elsewhere `m` is minutes, and whoever looks at the ends of licenses means months. */
function endingFault(given: string): Wrong | null {
  const [, months] = /^([1-9]\d{0,2})m$/.exec(given) ?? [];
  if (months === undefined && !given.endsWith("m") && spanOf(given) !== null) return null;
  const hint =
    months === undefined
      ? "for example --ending-within 60d"
      : `m means minutes; for ${count(Number(months), "month")}: --ending-within ${Number(months) * 30}d`;
  return { wrong: "must be a number of hours, days or weeks", hint };
}

export const listCommand: Command = {
  name: "vendor list",
  everyday: true,
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
    if (isSet(given, "csv") && isSet(given, "json")) {
      throw new Misuse("--csv and --json exclude each other", "use only one of them");
    }
    const now = wallClock();
    const records = await openDeskRecords(given);
    const filter = filterOf(given, records, now);
    const every = listLicenses(records.ledger, now);
    // Older serials are in one of these states alone: nobody asks for it and wants none of them.
    const isAll = isSet(given, "all") || filter.state === "replaced";
    const chosen = isSet(given, "to-reissue")
      ? findLicensesToReissue(records, now)
      : isAll
        ? every
        : filterNewestSerials(every);
    const found = filterLicenses(chosen, filter);
    if (isSet(given, "json")) printJson(found.map(jsonOf));
    else if (isSet(given, "csv")) printCsv([CSV_HEADER, ...found.map(csvCells)].map(csvRecord));
    else if (every.length === 0) print("no licenses were issued yet");
    else if (found.length === 0) print("no license matches");
    else print(table([HEADER, ...found.map(cells)]));
    return DONE;
  },
};

function filterOf(given: Given, { vendor, ledger }: DeskRecords, now: Instant): LicenseFilter {
  const product = stringOf(given, "product");
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
  const ending = stringOf(given, "ending-within");
  const span = ending === null ? null : spanOf(ending);
  return {
    product,
    customer: stringOf(given, "customer"),
    appliance: stringOf(given, "appliance"),
    licenseKey: stringOf(given, "license-key"),
    state: spaced(stringOf(given, "state")) as LicenseState | null,
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
