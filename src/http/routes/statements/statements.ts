import { Type, type Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { StatementStatus } from "../../../domain/statements/statement-status.ts";
import type { StoredStatement } from "../../../domain/model/statements/statement-chain.ts";
import { DAY, later } from "../../../domain/time.ts";
import { formatDay, rfc3339 } from "../../../platform/rfc3339.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import { jsonBody, uploadBody } from "../../request/body.ts";
import { fields, readIdentifier, readStatementNumber } from "../../request/fields.ts";
import { readQuery } from "../../request/query.ts";
import type { RouteDeps } from "../deps.ts";

const day = (description: string) => Type.String({ format: "date", description });
const orNull = <S extends ReturnType<typeof Type.String> | ReturnType<typeof Type.Integer>>(
  schema: S,
  description: string,
) => Type.Union([schema, Type.Null()], { description });

const statementShape = {
  number: Type.Integer({ description: "Number in the vendor's chain, from 1." }),
  from: day("First day, in UTC."),
  until: day("Last day, in UTC."),
  created_at: Type.String({ format: "date-time" }),
  digest: Type.String({ description: "SHA-256 of the document." }),
};

const StatementReply = Type.Object(
  {
    ...statementShape,
    is_acknowledged: Type.Boolean({ description: "The vendor confirmed that it has it." }),
  },
  { title: "Statement" },
);

const VendorStatementsReply = Type.Object(
  {
    vendor: Type.String({ description: "Vendor id." }),
    name: orNull(Type.String(), "Name of the vendor; null: no longer trusted."),
    statements: Type.Array(StatementReply, {
      description: "The statements that are kept, newest first.",
    }),
    acknowledged_number: orNull(
      Type.Integer(),
      "Newest statement that the vendor acknowledged; null: none.",
    ),
    next_from: orNull(
      Type.String({ format: "date" }),
      "First day that the next statement covers; null: the vendor has no license.",
    ),
    unreported_days: Type.Integer({ description: "Whole days that no statement covers yet." }),
    report_every_days: orNull(
      Type.Integer(),
      "Days after which the vendor wants the next statement; null: it did not say.",
    ),
    is_due: Type.Boolean({ description: "The next statement is later than the vendor wants it." }),
  },
  { title: "VendorStatements" },
);

export type VendorStatementsReply = Static<typeof VendorStatementsReply>;

const DocumentReply = Type.Object(
  {
    vendor: Type.String({ description: "Vendor id." }),
    ...statementShape,
    document: Type.String({ description: "The signed statement, to be sent to the vendor." }),
  },
  { title: "StatementDocument" },
);

const MadeReply = Type.Object(
  {
    ...DocumentReply.properties,
    is_new: Type.Boolean({
      description: "false: no whole day has passed since, and it is the last one again.",
    }),
    unreported_days: Type.Integer({ description: "Whole days that are not covered yet." }),
  },
  { title: "MadeStatement" },
);

const AcknowledgedReply = Type.Object(
  {
    vendor: Type.String({ description: "Vendor id." }),
    number: Type.Integer({ description: "The acknowledged statement." }),
    is_new: Type.Boolean({ description: "false: it, or a newer one, was acknowledged before." }),
    acknowledged_number: Type.Integer({ description: "Newest acknowledged statement." }),
  },
  { title: "AcknowledgedStatement" },
);

const Body = Type.Object({ vendor: fields.licensor }, { title: "StatementBody" });
const Query = Type.Object({ vendor: fields.licensor, number: fields.statement_number });

/** Usage statements for vendors, and what vendors acknowledge. */
export const statements = ({ usageStatements, peerOf, keepOpen }: RouteDeps) =>
  new Elysia({ name: "statements", prefix: "/api/admin/v1/statements" })
    .get(
      "",
      async () => unwrap(await usageStatements.list()).map(vendorStatementsReply),
      describeRoute({
        plane: "admin",
        id: "listStatements",
        summary: "List usage statements by vendor",
        reply: Type.Array(VendorStatementsReply),
      }),
    )
    .post(
      "",
      async ({ body, request }) => {
        const vendor = readIdentifier("vendor", body.vendor);
        const release = keepOpen(request);
        try {
          const next = unwrap(await usageStatements.make(vendor, peerOf(request)));
          return {
            ...documentReply(next),
            is_new: next.isNew,
            unreported_days: next.unreportedDays,
          };
        } finally {
          release();
        }
      },
      {
        ...jsonBody(Body, { emptyAllowed: true }),
        ...describeRoute({
          plane: "admin",
          id: "makeStatement",
          summary: "Make the next usage statement for a vendor",
          description:
            "It covers whole days in UTC, at most 31 of them, since the last statement. If no " +
            "whole day has passed since, the reply is the last statement again.",
          reply: MadeReply,
          refusals: [
            "missing_parameters",
            "unknown_vendor",
            "statement_not_due",
            "statement_outdated",
            "statement_too_large",
            "audit_log_damaged",
            "maintenance_failed",
            "too_many_jobs",
            "moved_away",
          ],
        }),
      },
    )
    .get(
      "/document",
      async ({ request, set }) => {
        const query = readQuery(Query, request, set.headers);
        const vendor = readIdentifier("vendor", query.vendor);
        const number = readStatementNumber(query.number);
        return documentReply(unwrap(await usageStatements.find(vendor, number)));
      },
      describeRoute({
        plane: "admin",
        id: "getStatement",
        summary: "Get a usage statement again",
        query: Query,
        reply: DocumentReply,
        refusals: [
          "missing_parameters",
          "unknown_vendor",
          "statement_not_due",
          "statement_not_found",
        ],
      }),
    )
    .post(
      "/acknowledge",
      async ({ body, request }) => {
        const { license: document } = body;
        if (document === undefined || document.trim() === "") {
          return refuse({ code: "missing_parameters", fields: ["license"] });
        }
        const { vendor, n, isNew, newest } = unwrap(
          await usageStatements.acknowledge(document, peerOf(request)),
        );
        return { vendor, number: n, is_new: isNew, acknowledged_number: newest };
      },
      {
        ...uploadBody(),
        ...describeRoute({
          plane: "admin",
          upload: true,
          id: "acknowledgeStatement",
          summary: "Install a vendor's acknowledgement of a usage statement",
          requiredFields: ["license"],
          reply: AcknowledgedReply,
          refusals: [
            "invalid_license_file",
            "trust_outdated",
            "retired_key",
            "key_ended",
            "acknowledgement_foreign",
            "statement_unknown",
          ],
        }),
      },
    );

const statementReply = ({ n, from, to, at, digest }: StoredStatement) => ({
  number: n,
  from: formatDay(from),
  until: formatDay(later(to, -DAY)),
  created_at: rfc3339(at),
  digest,
});

const documentReply = ({
  vendor,
  statement,
}: {
  readonly vendor: string;
  readonly statement: StoredStatement;
}) => ({ vendor, ...statementReply(statement), document: statement.document });

const vendorStatementsReply = (status: StatementStatus): VendorStatementsReply => ({
  vendor: status.vendor,
  name: status.name,
  statements: status.statements.toReversed().map((statement) => ({
    ...statementReply(statement),
    is_acknowledged: statement.n <= (status.acknowledged?.n ?? 0),
  })),
  acknowledged_number: status.acknowledged?.n ?? null,
  next_from: status.nextFrom === null ? null : formatDay(status.nextFrom),
  unreported_days: status.unreportedDays,
  report_every_days: status.everyDays,
  is_due: status.isDue,
});
