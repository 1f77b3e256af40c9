import { Type, type Static } from "@sinclair/typebox";
import type { Result } from "../domain/result.ts";
import type { MaintenanceFault } from "../faults/fault-types.ts";

const text = Type.String();
const count = Type.Integer();

export const SettingsReply = Type.Object(
  {
    settings: Type.Array(
      Type.Object({
        name: text,
        value: Type.Union([text, Type.Boolean(), Type.Array(text)]),
        source: Type.String({ description: "A flag, a variable, a file, or default." }),
      }),
    ),
    networks: Type.Object(
      { client: Type.Array(text), admin: Type.Array(text) },
      { description: "Networks in effect now; those of the machine's own interfaces may change." },
    ),
    listeners: Type.Array(Type.Object({ address: text, tls: Type.Boolean() })),
  },
  { title: "Settings" },
);

export const DoctorReply = Type.Object(
  {
    worst_level: text,
    findings: Type.Array(Type.Object({ check: text, level: text, finding: text, remedy: text })),
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

/** Operations that need a running server. */
export interface RunningServer {
  readonly settings: () => SettingsReply;
  readonly doctor: MaintenanceJob<DoctorReply>;
  readonly verify: MaintenanceJob<VerifyReply>;
  readonly backup: MaintenanceJob<Download>;
  readonly supportBundle: MaintenanceJob<Download>;
}
