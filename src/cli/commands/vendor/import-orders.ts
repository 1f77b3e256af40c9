import { csvRecords } from "../../../domain/text/csv.ts";
import { describeOrder } from "../../../desk/orders/order-list.ts";
import { addOrders, findRepeatedOrders, prepareOrders } from "../../../desk/orders/orders.ts";
import { wallClock } from "../../../platform/clock.ts";
import { readInputBytes } from "../../files/input-file.ts";
import { Failure } from "../../frame/command.ts";
import { confirm } from "../../frame/confirm.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { flag, Misuse } from "../../frame/options.ts";
import { escapeToOneLine, formatCount, formatList } from "../../frame/terminal.ts";
import { openDeskRecords } from "../../vendor/open-desk.ts";
import { readOrders, sampleOrders } from "../../vendor/order-import.ts";
import { CSV_COLUMNS, csvRowOf, jsonOf, rowOf } from "../../vendor/order-output.ts";
import { readPreset } from "../../vendor/preset.ts";

export const importOrdersCommand = defineCommand({
  name: "vendor order import",
  summary: "add orders from a CSV file: all of them, or none",
  options: {
    dir: option.anyDeskFolder,
    preset: { ...option.preset, help: "the preset of rows that name none" },
    sample: flag("--sample", "print a file to begin with; adds nothing"),
    dryRun: option.dryRun,
    yes: { ...option.yes, help: "do not ask for confirmation if the desk has the same orders" },
    csv: flag("--csv", "print the new orders with their keys as CSV"),
    json: option.json,
  },
  arguments: ["FILE"],
  examples: [
    "berth vendor order import --sample > orders.csv",
    "berth vendor order import orders.csv --dir desk --dry-run",
    "berth vendor order import orders.csv --dir desk --csv > keys.csv",
  ],
  async run(options, { args: [file] }) {
    const { dir, preset, sample, dryRun, csv, json } = options;
    if (sample) return { json: sampleOrders().join(""), text: { csv: sampleOrders() } };
    if (dir === null) throw new Misuse("--dir is required", "specify the desk's folder");
    if (csv && json)
      throw new Misuse("--csv and --json cannot be combined", "use only one of them");
    const source = readUtf8(file);
    const read = readOrders(source, { usual: preset, read: (name) => readPreset(dir, name) });
    const records = await openDeskRecords(dir);
    const now = wallClock();
    const wanted = read.rows.map(({ order }) => order);
    const faults = [...read.faults];
    const { orders, customers } = prepareOrders(records, wanted, now, (index, { message }) =>
      faults.push({ line: read.rows[index]?.line ?? 0, problem: message }),
    );
    if (faults.length > 0) throw badRows(faults);
    if (orders.length === 0)
      throw new Failure("the file has no orders", "add rows below the header");
    const repeated = findRepeatedOrders(records, orders);
    if (!dryRun && repeated.length === orders.length) {
      const count = formatCount(orders.length, "order");
      await confirm(options, `the desk has the same ${count} already; add them once more?`);
    }
    const added = dryRun ? orders : await addOrders(records, wanted, now);
    // The ledger has the names of new customers only if they were added.
    const names = new Map(customers.map(({ customer, name }) => [customer, name]));
    const listed = added.map((order) => {
      const described = describeOrder(records, order, now);
      const { id, name } = described.customer;
      return { ...described, customer: { id, name: names.get(id) ?? name } };
    });
    return {
      notes: [
        dryRun
          ? `nothing was added: ${formatCount(added.length, "order")} would be; the keys are examples`
          : `${formatCount(added.length, "order")} added`,
      ],
      warnings:
        repeated.length === 0
          ? []
          : [`the same customers have ${formatCount(repeated.length, "order")} of these already`],
      json: { orders: listed.map(jsonOf) },
      text: () =>
        csv
          ? { csv: csvRecords(CSV_COLUMNS, listed.map(csvRowOf)) }
          : formatList(listed.map(rowOf)),
    };
  },
});

/** A name in another encoding would be signed with wrong letters. */
function readUtf8(file: string | undefined): string {
  const bytes = readInputBytes(file, "a CSV file");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Misuse(`${file} is not UTF-8 text`, "save it as CSV in UTF-8");
  }
}

function badRows(faults: readonly { readonly line: number; readonly problem: string }[]): Failure {
  const lines = faults
    .toSorted((a, b) => a.line - b.line)
    .map(({ line, problem }) => `line ${line}: ${escapeToOneLine(problem)}`);
  return new Failure(
    `nothing was added: ${formatCount(faults.length, "row")} cannot be an order:\n${lines.join("\n")}`,
    "correct these rows and import the whole file again",
  );
}
