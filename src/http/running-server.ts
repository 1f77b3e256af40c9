import { Type, type Static } from "@sinclair/typebox";
import type { Result } from "../domain/result.ts";
import type { BackupScheduler } from "../operations/backups/backup-scheduler.ts";
import type { Notifier } from "../operations/notifications/notifier.ts";
import type { MaintenanceFault, SettingsChangeFault } from "../faults/fault-types.ts";
import { FindingReply, PassedCheckReply, SeverityReply } from "./routes/health/findings.ts";

const text = Type.String();
const count = Type.Integer();

const SettingValue = Type.Union([text, Type.Boolean(), Type.Array(text), Type.Null()], {
  description: "As it was written; null if it is not set.",
});

const Setting = Type.Object(
  {
    name: Type.String({ description: "The name, as in the settings file." }),
    type: Type.Union([Type.Literal("string"), Type.Literal("boolean"), Type.Literal("list")]),
    value: SettingValue,
    source: Type.String({ description: "A flag, a variable, a file, page, or default." }),
    default: SettingValue,
    help: text,
    editable: Type.Boolean({ description: "Whether POST settings can change it now." }),
    why_not: Type.Union([text, Type.Null()], {
      description: "Why it cannot be changed here, and how to change it; null if it can.",
    }),
  },
  { title: "Setting" },
);

export const SettingsReply = Type.Object(
  {
    settings: Type.Array(Setting),
    config_file: Type.Union([text, Type.Null()], {
      description: "The settings file that the server read at its start.",
    }),
    networks: Type.Object(
      { client: Type.Array(text), admin: Type.Array(text) },
      { description: "Networks in effect now; those of the machine's own interfaces may change." },
    ),
    listeners: Type.Array(Type.Object({ address: text, tls: Type.Boolean() })),
    cloud_keys: Type.Object(
      { api_key: Type.Boolean(), shared_key: Type.Boolean() },
      { description: "Whether each key is set." },
    ),
    read_only: Type.Boolean({ description: "Whether the caller may only read: a viewer." }),
  },
  { title: "Settings" },
);

const ChangedValue = Type.Union([text, Type.Array(text)]);

export const SettingChangesReply = Type.Object(
  {
    changes: Type.Array(Type.Object({ name: text, from: ChangedValue, to: ChangedValue }), {
      description: "Settings whose value is another one now; empty if nothing changed.",
    }),
  },
  { title: "SettingChanges" },
);

export const DoctorReply = Type.Object(
  {
    worst_severity: Type.Union([SeverityReply, Type.Null()], {
      description: "null: there is no finding.",
    }),
    findings: Type.Array(FindingReply),
    passed_checks: Type.Array(PassedCheckReply),
  },
  { title: "Doctor" },
);

/** Lines of the audit log that were declared missing. */
export const DeclaredGap = Type.Object(
  {
    reason: text,
    from_line: count,
    to_line: count,
    declared_at: Type.String({ format: "date-time" }),
  },
  { title: "DeclaredGap" },
);

const IntactData = Type.Object(
  {
    intact: Type.Literal(true),
    path: text,
    kind: text,
    appliance: text,
    licenses: count,
    registrations: count,
    seq: count,
    checkpoint_seq: count,
    journal_segments: count,
    audit_seq: count,
    audit_sum: text,
    audit_from: count,
    audit_to: count,
    audit_lines: count,
    audit_files: count,
    audit_unfinished_bytes: count,
    audit_gaps: Type.Array(DeclaredGap, {
      description: "Lines of the audit log that were declared missing.",
    }),
    checkpoint_generations: Type.Array(count),
    torn_bytes: count,
    torn_files: Type.Array(text),
  },
  { title: "IntactData" },
);

const DamagedData = Type.Object(
  {
    intact: Type.Literal(false),
    finding: Type.String({ description: "The damaged file, and the position in it." }),
    remedy: Type.String({ description: "The recommended action, with its command." }),
  },
  { title: "DamagedData" },
);

export const VerifyReply = Type.Union([IntactData, DamagedData]);

export type SettingsReply = Static<typeof SettingsReply>;
/** What the server itself knows of its settings. */
export type ServerSettings = Omit<SettingsReply, "cloud_keys" | "read_only">;
export type SettingChangesReply = Static<typeof SettingChangesReply>;
export type DoctorReply = Static<typeof DoctorReply>;
export type VerifyReply = Static<typeof VerifyReply>;

/** A temporary file that was created for one request. */
export interface Download {
  readonly path: string;
  /** File name for the recipient. */
  readonly name: string;
  /** Removes the file. A reader that has it open can still read all of it. */
  readonly remove: () => void;
}

/** Too much work for the serving process: a child process does it, until the signal aborts it. */
export type MaintenanceJob<T> = (signal: AbortSignal) => Promise<Result<T, MaintenanceFault>>;

/** New values of settings by their names; null: back to the default. */
export type SettingEdits = Readonly<Record<string, SettingEdit>>;

export type SettingEdit = string | number | boolean | readonly string[] | null;

export interface SettingsCaller {
  /** The address of the request. */
  readonly address: string;
  /** The address for the audit log, with the credential's name. */
  readonly peer: string;
}

/** Operations that need a running server. */
export interface RunningServer {
  readonly settings: () => ServerSettings;
  /** Changes all of these settings, or none. */
  readonly changeSettings: (
    edits: SettingEdits,
    caller: SettingsCaller,
  ) => Promise<Result<SettingChangesReply, SettingsChangeFault>>;
  readonly doctor: MaintenanceJob<DoctorReply>;
  readonly verify: MaintenanceJob<VerifyReply>;
  readonly backup: MaintenanceJob<Download>;
  readonly supportBundle: MaintenanceJob<Download>;
  readonly backups: BackupScheduler;
  readonly notifier: Pick<Notifier, "failures" | "test">;
}
