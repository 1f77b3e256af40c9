import { Type, type Static } from "@sinclair/typebox";
import type { StoredBackup } from "../../../operations/backups/backup-folder.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";

/** A scheduled backup, in replies and in the output of `berth backup list --json`. */
export const BackupReply = Type.Object(
  {
    name: Type.String(),
    made_at: Type.String({ format: "date-time" }),
    size: Type.Integer({ description: "In bytes." }),
    seq: Type.Union([Type.Integer(), Type.Null()], {
      description: "The last line of the journal that it contains; null: unknown.",
    }),
    verified: Type.Boolean({
      description: "It was verified when it was made, and no later check found damage.",
    }),
    finding: Type.Union([Type.String(), Type.Null()], {
      description: "Why it cannot be restored; null: nothing is known.",
    }),
  },
  { title: "Backup" },
);

export type BackupReply = Static<typeof BackupReply>;

export const backupReply = ({ name, madeAt, size, seq, finding }: StoredBackup): BackupReply => ({
  name,
  made_at: rfc3339(madeAt),
  size,
  seq,
  verified: finding === null,
  finding,
});
