import { Type, type Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { AuditGap } from "../../../domain/model/state.ts";
import type { MissingLines } from "../../../operations/audit/audit-maintenance.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import { jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import { fields, readFreeText } from "../../request/fields.ts";
import { rfc3339OrNull } from "../../timestamps.ts";
import type { RouteDeps } from "../deps.ts";

const time = Type.Union([Type.String({ format: "date-time" }), Type.Null()]);
const names = Type.Array(Type.String());

const lineRangeFields = {
  from_line: Type.Integer(),
  to_line: Type.Integer(),
  earliest: Type.Unsafe<string | null>({
    ...time,
    description: "Earliest possible time of the lines; null: unknown.",
  }),
  latest: Type.Unsafe<string | null>({
    ...time,
    description: "Latest possible time of the lines; null: unknown.",
  }),
};

const MissingLinesReply = Type.Object(
  { ...lineRangeFields, files: names },
  { title: "MissingLines" },
);

const AuditGapReply = Type.Object(
  {
    ...lineRangeFields,
    reason: Type.Union([Type.Literal("damaged"), Type.Literal("sealed")]),
    declared_at: Type.String({ format: "date-time" }),
    files: Type.Array(
      Type.Object({ name: Type.String(), bytes: Type.Integer(), sha256: Type.String() }),
      { description: "The files that held the lines, before the change." },
    ),
  },
  { title: "AuditGap" },
);

const AuditRepairReply = Type.Object(
  {
    intact: Type.Boolean({ description: "No lines are missing except declared gaps." }),
    missing_lines: Type.Array(MissingLinesReply, {
      description: "Missing lines that are not declared as a gap.",
    }),
    recovered_lines: Type.Integer({ description: "Lines that were recovered and written back." }),
    rewritten_files: names,
    backup_files: Type.Array(Type.String(), {
      description: "Copies of the rewritten files from before the repair.",
    }),
    declared_gaps: Type.Array(AuditGapReply),
  },
  { title: "AuditRepair" },
);

const AuditSealReply = Type.Object(
  {
    gaps: Type.Array(AuditGapReply),
    removed_files: names,
    freed_bytes: Type.Integer(),
  },
  { title: "AuditSeal" },
);

export type AuditRepairReply = Static<typeof AuditRepairReply>;
export type AuditSealReply = Static<typeof AuditSealReply>;

const RepairBody = Type.Object({ accept_gap: fields.accept_gap }, { title: "RepairAuditBody" });
const SealBody = Type.Object(
  { month: fields.month, note: fields.note },
  { title: "SealAuditBody" },
);

const MONTH = /^\d{4}-(?:0[1-9]|1[0-2])$/;

const INVALID_MONTH = {
  code: "invalid_parameter",
  field: "month",
  expected: "a month such as 2026-03",
} as const;

/** Changes to the files of the audit log. Each change is itself an event of the audit log. */
export const auditMaintenance = ({ auditMaintenance, peerOf, keepOpen }: RouteDeps) =>
  new Elysia({ name: "audit-maintenance", prefix: "/api/admin/v1/audit" })
    .post(
      "/repair",
      async ({ body, request }): Promise<AuditRepairReply> => {
        const note = readFreeText("accept_gap", body.accept_gap).trim();
        const acceptance = note === "" ? null : { note, peer: peerOf(request) };
        const release = keepOpen(request);
        try {
          const repair = unwrap(await auditMaintenance.repair(acceptance));
          return {
            intact: repair.missing.length === 0,
            missing_lines: repair.missing.map(missingReply),
            recovered_lines: repair.recovered,
            rewritten_files: [...repair.written],
            backup_files: [...repair.backupFiles],
            declared_gaps: repair.declared.map(gapReply),
          };
        } finally {
          release();
        }
      },
      {
        ...jsonBody(RepairBody),
        ...describeRoute({
          plane: "admin",
          id: "repairAudit",
          summary: "Repair the audit log",
          description:
            "Restores lines that the journal still has. Lines that cannot be recovered are reported " +
            "as missing. They are declared as a gap only if accept_gap gives a reason; without it, " +
            "nothing is changed in that case.",
          destructiveEffect:
            "With accept_gap, lines that cannot be recovered are declared missing, and verify accepts " +
            "that from then on.",
          reply: AuditRepairReply,
          refusals: ["too_many_audit_gaps", "audit_maintenance_incomplete"],
        }),
      },
    )
    .post(
      "/seal",
      async ({ body, request }): Promise<AuditSealReply> => {
        const { month } = body;
        if (month === undefined || month === "") {
          return refuse({ code: "missing_parameters", fields: ["month"] });
        }
        if (!MONTH.test(month)) return refuse(INVALID_MONTH);
        const operatorNote = {
          note: readFreeText("note", body.note).trim(),
          peer: peerOf(request),
        };
        const release = keepOpen(request);
        try {
          const { gaps, removed, freedBytes } = unwrap(
            await auditMaintenance.seal(month, operatorNote),
          );
          return { gaps: gaps.map(gapReply), removed_files: [...removed], freed_bytes: freedBytes };
        } finally {
          release();
        }
      },
      {
        ...jsonBody(SealBody),
        ...describeRoute({
          plane: "admin",
          id: "sealAudit",
          summary: "Seal and remove a month of the audit log",
          description:
            "Reads the whole month, declares it as a gap with the checksum of its last line, so that " +
            "the chain continues, and then removes its files. Export them first with GET " +
            "/api/admin/v1/audit/export.",
          requiredFields: ["month"],
          destructiveEffect: "The lines of the month are permanently removed from this server.",
          reply: AuditSealReply,
          refusals: [
            "missing_parameters",
            INVALID_MONTH,
            "audit_month_empty",
            "audit_month_sealed",
            "audit_month_damaged",
            "too_many_audit_gaps",
            "audit_maintenance_incomplete",
          ],
        }),
      },
    );

const missingReply = ({ from, to, earliest, latest, files }: MissingLines) => ({
  from_line: from,
  to_line: to,
  earliest: rfc3339OrNull(earliest),
  latest: rfc3339OrNull(latest),
  files: [...files],
});

const gapReply = (gap: AuditGap): AuditRepairReply["declared_gaps"][number] => ({
  from_line: gap.from,
  to_line: gap.to,
  earliest: rfc3339OrNull(gap.earliest),
  latest: rfc3339OrNull(gap.latest),
  reason: gap.reason,
  declared_at: rfc3339(gap.at),
  files: gap.files.map(({ name, bytes, sha256 }) => ({ name, bytes, sha256 })),
});
