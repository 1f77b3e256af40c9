import { csvRecords } from "../../../domain/text/csv.ts";
import { later } from "../../../domain/time.ts";
import { wallClock } from "../../../platform/clock.ts";
import { flag, Misuse, text } from "../../frame/options.ts";
import {
  filterLicenses,
  LICENSE_STATES,
  findLicensesToReissue,
  listLicenses,
  filterNewestSerials,
  type ListedLicense,
} from "../../../desk/ledger/license-list.ts";
import type { DeskRecords } from "../../../desk/desk-records.ts";
import {
  describeAcceptedSplit,
  listAcceptedSplits,
} from "../../../desk/issuing/pair-continuity.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { oneOf } from "../../frame/option-parsers.ts";
import { formatList, type Text } from "../../frame/terminal.ts";
import {
  applianceFilter,
  csvOption,
  endingWithinOption,
  textFilter,
} from "../../vendor/list-filters.ts";
import { openDeskRecords } from "../../vendor/open-desk.ts";

export const listCommand = defineCommand({
  name: "vendor list",
  isCommon: true,
  summary: "list the licenses that this desk issued and their states; needs no passphrase",
  options: {
    dir: option.deskFolder,
    product: textFilter("--product CODE", "only licenses of this product"),
    customer: textFilter("--customer TEXT", "only customers whose name contains this text"),
    appliance: applianceFilter("only licenses for this appliance"),
    licenseKey: textFilter("--license-key KEY", "only licenses with this license key"),
    state: text("--state STATE", `only licenses in this state: ${LICENSE_STATES.join(", ")}`, {
      // `not-yet-started` needs no quotes in a shell.
      parse: (name) => oneOf(...LICENSE_STATES)(name.replaceAll("-", " ")),
    }),
    endingWithin: endingWithinOption(
      "only licenses that expire within this time, for example 60d, 8w or 48h",
    ),
    all: flag("--all", "show every serial, including those replaced by a newer one"),
    toReissue: flag(
      "--to-reissue",
      "only licenses in use that were signed with a key that is now retired",
    ),
    csv: csvOption,
    json: option.json,
  },
  examples: [
    "berth vendor list --dir desk",
    "berth vendor list --dir desk --ending-within 60d",
    "berth vendor list --dir desk --customer initech --state active --csv > licenses.csv",
  ],
  async run({ dir, product, state, endingWithin, all, toReissue, csv, json, ...others }) {
    if (csv && json) {
      throw new Misuse("--csv and --json cannot be combined", "use only one of them");
    }
    const now = wallClock();
    const records = await openDeskRecords(dir);
    if (product !== null) checkProduct(product, records);
    const licenses = listLicenses(records.ledger, now);
    // Only older serials have the state `replaced`, so this filter implies --all.
    const isAll = all || state === "replaced";
    const candidates = toReissue
      ? findLicensesToReissue(records, now)
      : isAll
        ? licenses
        : filterNewestSerials(licenses);
    const endingBefore = endingWithin === null ? null : later(now, endingWithin);
    const matches = filterLicenses(candidates, { ...others, product, state, endingBefore });
    const text = (): Text => {
      if (csv) return { csv: csvRecords(CSV_COLUMNS, matches.map(csvRowOf)) };
      if (licenses.length === 0) return "no licenses were issued yet";
      return formatList(matches.map(rowOf), "no license matches");
    };
    const appliances = new Set(matches.map((license) => license.appliance));
    const splits = listAcceptedSplits(records).filter((split) => appliances.has(split.appliance));
    return { json: matches.map(jsonOf), text, warnings: splits.map(describeAcceptedSplit) };
  },
});

function checkProduct(product: string, { vendor, ledger }: DeskRecords): void {
  const issued = ledger.issuedEntries().map(({ terms }) => terms.product);
  const products = new Set([...vendor.products, ...issued]);
  if (products.has(product)) return;
  throw new Misuse(
    `--product ${product} is not a product of this desk`,
    `its products: ${[...products].join(", ")}`,
  );
}

/** As in the ledger, but with the time named as in the CSV. */
const jsonOf = ({ at, hardware: _hardware, ...license }: ListedLicense) => ({
  ...license,
  issued_at: at,
});

const rowOf = (license: ListedLicense) => ({
  license: license.license_id,
  serial: license.serial,
  customer: license.customer,
  product: license.product,
  slots: license.slots,
  hosts: license.hosts?.length ?? 1,
  expires: license.ends_at?.replace(".000Z", "Z") ?? "never",
  state: license.state,
  appliance: license.appliance,
  key: license.license_key,
});

const csvRowOf = (license: ListedLicense) => ({
  ...jsonOf(license),
  hosts: license.hosts?.length ?? 1,
});

const CSV_COLUMNS = [
  "license_id",
  "serial",
  "customer",
  "product",
  "slots",
  "ends_at",
  "state",
  "appliance",
  "license_key",
  "issued_at",
  "hosts",
] as const;
