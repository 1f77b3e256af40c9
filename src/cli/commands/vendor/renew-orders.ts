import { later } from "../../../domain/time.ts";
import { renewFromLedger } from "../../../desk/answering/renew-from-ledger.ts";
import type { DeskRecords } from "../../../desk/desk-records.ts";
import type { IssuedEntry, OrderEntry } from "../../../desk/ledger/ledger-entries.ts";
import { filterOrders, listOrders } from "../../../desk/orders/order-list.ts";
import { listHolders, readOrderState } from "../../../desk/orders/order-state.ts";
import { changeOrders, getOpenOrder, prepareChange } from "../../../desk/orders/orders.ts";
import { parseTermsFile } from "../../../license/terms/terms-file.ts";
import { wallClock } from "../../../platform/clock.ts";
import { EXIT_NEEDS_DECISION, EXIT_OK } from "../../frame/command.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { Misuse } from "../../frame/options.ts";
import { formatCount, formatList } from "../../frame/terminal.ts";
import { endingWithinOption, textFilter } from "../../vendor/list-filters.ts";
import { deskOptions, openDesk, openDeskRecords } from "../../vendor/open-desk.ts";
import { isUnset } from "../../vendor/feature-flag.ts";
import { TERMS } from "../../vendor/terms-flags.ts";
import { checkOutFolder, writeRenewals, type RenewedFile } from "../../vendor/renewal-files.ts";

export const renewOrdersCommand = defineCommand({
  name: "vendor order renew",
  summary: "give orders a later end, and sign the renewals of the sites that hold them",
  options: {
    ...deskOptions,
    validUntil: {
      ...TERMS.validUntil,
      help: "the new last day (in UTC), an RFC 3339 time, or never",
      isRequired: true,
      missingHint: "--valid-until 2028-12-31, or never",
    },
    endingWithin: endingWithinOption("orders that end within this time, for example 60d"),
    customer: textFilter("--customer TEXT", "orders of customers whose name contains this text"),
    product: textFilter("--product CODE", "orders of this product"),
    outDir: {
      ...option.outDir,
      help: "sign a renewal for each site and write it here; default: the answer to its next request has it",
    },
    dryRun: option.dryRun,
    json: option.json,
  },
  arguments: ["KEY…"],
  examples: [
    "berth vendor order renew KEY --dir desk --valid-until 2028-12-31",
    "berth vendor order renew --dir desk --ending-within 60d --valid-until 2028-12-31 --out-dir renewals",
  ],
  async run(options, { allArgs: keys }) {
    const { dryRun, outDir } = options;
    const terms = readEnd(options.validUntil);
    if (outDir !== null && !dryRun) checkOutFolder(outDir);
    const records = await openDeskRecords(options.dir);
    const now = wallClock();
    const orders = selectOrders(records, keys, options, now);
    const changes = orders.map(({ license_key }) => ({
      licenseKey: license_key,
      changes: { terms },
    }));
    // A wrong passphrase must change nothing: the orders would not be selected again.
    const isSigning = outDir !== null && !dryRun && listLicenses(records, orders).some(isByFile);
    const desk = isSigning ? await openDesk(options) : null;
    const changed = dryRun
      ? changes.map((one) => prepareChange(records, one.licenseKey, one.changes, now))
      : await changeOrders(desk ?? records, changes, now);
    const rows = changed.map(({ after, differences }) => ({
      key: after.license_key,
      customer: records.ledger.orders.findCustomer(after.customer)?.name ?? after.customer,
      product: after.terms.product,
      change: differences.length === 0 ? "nothing changes" : differences.join("; "),
    }));
    const licenses = listLicenses(desk ?? records, orders);
    const byFile = licenses.filter(isByFile);
    const renewed =
      outDir === null || desk === null
        ? []
        : await writeRenewals(outDir, byFile, ({ license_id }) =>
            renewFromLedger(desk, license_id, now),
          );
    const byCode = licenses.length - byFile.length;
    const count = formatCount(
      changed.filter(({ differences }) => differences.length > 0).length,
      "order",
    );
    return {
      notes: [
        dryRun ? `nothing was changed: ${count} would be` : `${count} renewed`,
        ...(byCode === 0
          ? []
          : [`${formatCount(byCode, "license")} by code: confirm the site's next activation code`]),
        ...(outDir === null && byFile.length > 0
          ? ["the answers to the sites' next requests have the new end; --out-dir signs them now"]
          : []),
      ],
      json: {
        orders: changed.map(({ after, differences }) => ({
          license_key: after.license_key,
          valid_until: after.terms.valid_until,
          changes: differences,
        })),
        renewed,
        by_code: byCode,
      },
      text: [
        formatList(rows, "no order matches"),
        ...(renewed.length === 0 ? [] : ["", formatList(renewed.map(fileRow))]),
      ].join("\n"),
      exitCode: renewed.some(({ obstacles }) => obstacles.length > 0)
        ? EXIT_NEEDS_DECISION
        : EXIT_OK,
    };
  },
});

/** The licenses with which appliances hold orders. */
const listLicenses = ({ ledger }: DeskRecords, orders: readonly OrderEntry[]): IssuedEntry[] =>
  orders.flatMap((order) => listHolders(readOrderState(ledger, order)).map(({ newest }) => newest));

const isByFile = ({ jwk }: IssuedEntry): boolean => jwk !== null;

const fileRow = ({ license_id, serial, outcome, file, obstacles }: RenewedFile) => ({
  license: license_id,
  serial,
  outcome,
  file: file ?? obstacles.map(({ text }) => text).join("; "),
});

function readEnd(text: string) {
  const parsed = parseTermsFile({ valid_until: isUnset(text) ? null : text });
  if (parsed.ok) return parsed.value;
  throw new Misuse("--valid-until must be a day, a time or never", "for example 2028-12-31");
}

function selectOrders(
  records: DeskRecords,
  keys: readonly string[],
  options: {
    readonly endingWithin: number | null;
    readonly customer: string | null;
    readonly product: string | null;
  },
  now: ReturnType<typeof wallClock>,
): OrderEntry[] {
  const { endingWithin, customer, product } = options;
  const hasFilter = endingWithin !== null || customer !== null || product !== null;
  if (keys.length > 0 === hasFilter) {
    throw new Misuse(
      "either license keys or --ending-within, --customer and --product choose the orders",
      "berth vendor order renew KEY --valid-until DAY",
    );
  }
  if (keys.length > 0) return [...new Set(keys.map((key) => getOpenOrder(records, key)))];
  const endingBefore = endingWithin === null ? null : later(now, endingWithin);
  const filter = { customer, product, licenseKey: null, state: null, endingBefore };
  const found = filterOrders(listOrders(records, now), filter).filter(
    ({ state }) => state !== "closed",
  );
  return found.map(({ order }) => order);
}
