import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

/** The last entry of a backup: the list of its contents. A file that was cut short has none. */
export const MANIFEST_FILE = "backup.json";

const BackupManifest = Type.Object({
  backup: Type.Literal(1),
  berth: Type.String(),
  made_at: Type.String(),
  appliance: Type.String(),
  kind: Type.String(),
  seq: Type.Integer({ minimum: 0 }),
  audit_seq: Type.Integer({ minimum: 0 }),
  files: Type.Array(
    Type.Object({ name: Type.String(), size: Type.Integer(), sha256: Type.String() }),
  ),
  /** The damage of the audit log at the time of the backup; left out: none. */
  audit_damage: Type.Optional(
    Type.Object({
      missing: Type.Array(Type.Object({ from: Type.Integer(), to: Type.Integer() })),
      files: Type.Array(Type.String()),
    }),
  ),
});

export type BackupManifest = Static<typeof BackupManifest>;

/** Null: not a manifest. */
export function parseManifest(bytes: Uint8Array): BackupManifest | null {
  try {
    const data: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return Value.Check(BackupManifest, data) ? data : null;
  } catch {
    return null;
  }
}
