import { Type, type Static } from "@sinclair/typebox";
import { BackupsStatus } from "../backups/backups-status.ts";
import { Pair } from "../pair/pair-reply.ts";
import { DeclaredGap } from "../../running-server.ts";
import { QueueStatusReply } from "../queue/queue-schemas.ts";
import { FindingReply, PassedCheckReply } from "./findings.ts";

const time = Type.String({ format: "date-time" });
const text = Type.Union([Type.String(), Type.Null()]);

export const StatusReply = Type.Object(
  {
    version: Type.String(),
    site_name: Type.String({ description: "The name that the operator gave this server." }),
    expiry_warning_days: Type.Integer({
      description: "So many days before its end, a license, certificate or token is reported.",
    }),
    kind: Type.Union([Type.Literal("site"), Type.Literal("demo")]),
    pid: Type.Integer(),
    now: time,
    created_at: time,
    moved_away_at: Type.Union([time, Type.Null()], {
      description: "When the appliance was moved to another host; null if it was not moved.",
    }),
    appliance: Type.Object({
      id: Type.String(),
      hardware_id: Type.String(),
      components: Type.Array(Type.String()),
      weak_binding: Type.Boolean({ description: "Too few hardware components can be identified." }),
    }),
    storage: Type.Object({
      fault: text,
      checkpoint_error: text,
      recovery_notes: Type.Array(Type.String(), {
        description: "What was repaired when the data folder was opened.",
      }),
      seq: Type.Integer(),
      audit_seq: Type.Integer(),
      audit_gaps: Type.Array(DeclaredGap, {
        description: "Lines of the audit log that were declared missing.",
      }),
      journal_bytes: Type.Integer(),
      warnings: Type.Array(Type.Object({ code: Type.String(), message: Type.String() })),
      free_bytes: Type.Union([Type.Integer(), Type.Null()]),
      slowest_sync_ms: Type.Number({
        description: "The slowest sync of the last one to two minutes.",
      }),
    }),
    licenses: Type.Array(
      Type.Object({
        license_id: Type.Integer(),
        product: Type.String(),
        license_type: Type.String(),
        validity_period: Type.Union([time, Type.Null()]),
        refusal: text,
        moved_until: Type.Union([time, Type.Null()], {
          description: "A license signed for the previous host is valid here until this time.",
        }),
        restored_until: Type.Union([time, Type.Null()], {
          description: "A license of another machine, restored here, is valid until this time.",
        }),
        vendor: Type.String(),
        serial: Type.Integer(),
        key: Type.String({ description: "Id of the vendor's key that signed it." }),
        key_until: Type.String({
          format: "date-time",
          description: "When that key ends. The license goes on.",
        }),
        hardware_drift: Type.Array(Type.String(), {
          description: "Hardware components in the license that this machine no longer has.",
        }),
        floating_users: Type.Integer(),
        floating_slots_in_use: Type.Integer(),
        floating_slots_held: Type.Integer({
          description: "Free slots that are kept for users who waited.",
        }),
        max_consumptions: Type.Union([Type.Integer(), Type.Null()]),
        total_consumptions: Type.Integer(),
        allow_unlimited_consumptions: Type.Boolean({
          description:
            "Consumption has no limit. false with max_consumptions null: the license does not count.",
        }),
      }),
    ),
    command_line: Type.Object(
      {
        executable: Type.String(),
        needs_sudo: Type.Boolean(),
        data_folder: Type.String({ description: "Empty: commands find it without `--data`." }),
      },
      { description: "How commands for this server are called in a terminal on its machine." },
    ),
    findings: Type.Array(FindingReply, {
      description: "What an operator should know, the most severe first.",
    }),
    passed_checks: Type.Array(PassedCheckReply, {
      description: "Checks that found nothing that needs an action.",
    }),
    checked_at: Type.Union([time, Type.Null()], {
      description:
        "When all checks of berth doctor were last run; null: not since the server started.",
    }),
    certificate: Type.Union(
      [
        Type.Object({
          expires_at: time,
          state: Type.Union([
            Type.Literal("ok"),
            Type.Literal("expiring"),
            Type.Literal("expired"),
          ]),
        }),
        Type.Null(),
      ],
      { description: "The certificate of the TLS listener; null without a TLS listener." },
    ),
    backups: Type.Union([BackupsStatus, Type.Null()], {
      description: "Scheduled backups; null without a running server.",
    }),
    queue: QueueStatusReply,
    pair: Type.Union([Pair, Type.Null()], {
      description: "The hosts of the pair; null: this host is alone.",
    }),
    rules: Type.Union(
      [
        Type.Object({
          digest: Type.String({ description: "SHA-256 of the text of the rules, in hex." }),
          reservations: Type.Array(
            Type.Object({
              product: Type.String(),
              feature: Type.Union([Type.String(), Type.Null()], {
                description: "null: the slots of the product itself.",
              }),
              reserved: Type.Integer(),
              idle: Type.Integer({ description: "Reserved slots that their groups do not use." }),
            }),
          ),
        }),
        Type.Null(),
      ],
      { description: "The sharing rules of the site; null without rules." },
    ),
    refusals: Type.Array(
      Type.Object({
        product: text,
        feature: Type.Union([Type.String(), Type.Null()], {
          description: "null: the requests were about the product itself.",
        }),
        code: Type.String(),
        count: Type.Integer(),
      }),
    ),
  },
  { title: "Status" },
);

export type StatusReply = Static<typeof StatusReply>;
