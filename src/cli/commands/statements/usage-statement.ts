import type { VendorStatementsReply } from "../../../http/routes/statements/statements.ts";
import { withReportProgress } from "../../client/report-progress.ts";
import { setFields, unwrapReply, withAdminClient } from "../../client/admin-client.ts";
import { readDocument } from "../../files/input-document.ts";
import { checkOutputPath, outputDocument } from "../../files/output-document.ts";
import { refuseToReplace } from "../../files/output-file.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { matchingNumber } from "../../frame/option-parsers.ts";
import { Misuse, text } from "../../frame/options.ts";
import { escapeToOneLine, formatCount, formatList } from "../../frame/terminal.ts";

const vendorOption = text(
  "--vendor VENDOR",
  "id or name of the vendor; optional if only one vendor has licenses here",
);

const numberOption = text(
  "--number N",
  "write this statement again instead of making the next one",
  {
    parse: matchingNumber(
      /^[1-9]\d{0,5}$/,
      "must be the number of a statement",
      "berth usage statements lists them",
    ),
  },
);

interface ShownStatement {
  readonly number: number;
  readonly vendor: string;
  readonly from: string;
  readonly until: string;
  readonly is_new: boolean;
  /** Null: unknown. */
  readonly unreported_days: number | null;
}

const statement = defineCommand({
  name: "usage statement",
  summary: "make a signed statement of what was used, for one vendor",
  options: {
    ...siteOptions,
    vendor: vendorOption,
    number: numberOption,
    out: option.out,
    qr: option.qr,
    json: option.json,
  },
  examples: [
    "berth usage statement --out statement.jwt",
    "berth usage statement --vendor Acme --out statement.jwt",
    "berth usage statement --number 3 --out statement.jwt",
  ],
  async run(options, context) {
    checkOutputPath(options, "usage");
    // Before the statement is made: the next one must not replace the file of the last one.
    if (options.out !== null) refuseToReplace(options.out);
    const { vendor, number } = options;
    const reply = await withAdminClient(options, context, async (client) => {
      const { admin } = client;
      if (vendor === null) await requireOnlyVendor(unwrapReply(admin.statements.get()));
      if (number !== null) {
        const stored = await unwrapReply(
          admin.statements.document.get({ query: setFields({ vendor, number: String(number) }) }),
        );
        return { ...stored, is_new: false, unreported_days: null };
      }
      return withReportProgress("making the statement", client, () =>
        unwrapReply(admin.statements.post(setFields({ vendor }))),
      );
    });
    return {
      json: reply,
      notes: describeStatement(reply, number === null),
      text: () => outputDocument(options, reply.document, "the statement"),
    };
  },
});

/** A statement is for one vendor: with several, the operator says which. */
async function requireOnlyVendor(
  vendors: Promise<readonly VendorStatementsReply[]>,
): Promise<void> {
  const names = (await vendors).map(({ name, vendor }) => escapeToOneLine(name ?? vendor));
  if (names.length < 2) return;
  throw new Misuse(
    "--vendor is required: several vendors have licenses here",
    `the vendors are ${names.join(", ")}`,
  );
}

function describeStatement(statement: ShownStatement, isRequestForNext: boolean): string[] {
  const { number, vendor, from, until, is_new, unreported_days } = statement;
  const days = formatCount(unreported_days ?? 0, "day");
  return [
    `statement ${number} for vendor ${vendor}, from ${from} to ${until}`,
    ...(isRequestForNext && !is_new
      ? ["it is the last one again: no whole day in UTC has passed since"]
      : []),
    ...((unreported_days ?? 0) > 0
      ? [
          `${days} not covered yet: run the command again for the next statement, with a new file name`,
        ]
      : []),
  ];
}

const list = defineCommand({
  name: "usage statements",
  summary: "list the usage statements for each vendor, and what is not reported yet",
  options: { ...siteOptions, json: option.json },
  async run(site, context) {
    const vendors = await withAdminClient(site, context, ({ admin }) =>
      unwrapReply(admin.statements.get()),
    );
    return { json: vendors, text: formatStatements(vendors) };
  },
});

function formatStatements(vendors: readonly VendorStatementsReply[]): string {
  if (vendors.length === 0) return "no vendor has a license here";
  const parts = vendors.map((vendor) => {
    const { name, statements, unreported_days, report_every_days, is_due } = vendor;
    const wish =
      report_every_days === null
        ? ""
        : `; wanted every ${formatCount(report_every_days, "day")}${is_due ? ", due now" : ""}`;
    const head = `${name ?? "unknown"} (${vendor.vendor}): ${formatCount(unreported_days, "day")} not covered yet${wish}`;
    const rows = statements.map(({ number, from, until, created_at, is_acknowledged }) => ({
      statement: number,
      from,
      until,
      made: created_at.slice(0, 10),
      acknowledged: is_acknowledged ? "yes" : "no",
    }));
    return [escapeToOneLine(head), ...(rows.length === 0 ? [] : [formatList(rows)])];
  });
  return parts.map((lines) => lines.join("\n")).join("\n\n");
}

const acknowledge = defineCommand({
  name: "usage acknowledge",
  summary: "install a vendor's acknowledgement of a usage statement",
  options: { ...siteOptions, json: option.json },
  arguments: ["FILE"],
  examples: ["berth usage acknowledge ack.jwt"],
  run(site, context) {
    const license = readDocument(context.args[0], "ack");
    return withAdminClient(site, context, async ({ admin }) => {
      const reply = await unwrapReply(admin.statements.acknowledge.post({ license }));
      const { number, is_new, acknowledged_number } = reply;
      return {
        json: reply,
        text: is_new
          ? `statement ${number} is acknowledged`
          : `nothing changed: statement ${acknowledged_number} is already acknowledged`,
      };
    });
  },
});

/** Statements of what was used, for vendors. */
export const usageStatementCommands = [statement, list, acknowledge];
