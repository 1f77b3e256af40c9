import { Type, type Static } from "@sinclair/typebox";
import type { BackupStatus } from "../../../operations/backups/backup-status.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import { rfc3339OrNull } from "../../timestamps.ts";

const time = Type.String({ format: "date-time" });
const nullableTime = (description: string) => Type.Union([time, Type.Null()], { description });

const BackupFailure = Type.Object({ at: time, message: Type.String() }, { title: "BackupFailure" });

export const BackupsStatus = Type.Object(
  {
    schedule: Type.Union([Type.String(), Type.Null()], {
      description: "Times are in the time zone of the server; null: backups are off.",
    }),
    directory: Type.String(),
    newest_at: nullableTime("When the newest backup was made; null: there is none."),
    newest_size: Type.Union([Type.Integer(), Type.Null()], { description: "In bytes." }),
    next_at: nullableTime("When the next one is due; in the past if it is overdue; null: never."),
    running_since: nullableTime("Since when a backup is being made; null: none is."),
    last_fault: Type.Union([BackupFailure, Type.Null()], {
      description: "Why the last attempt failed; null: it succeeded, or there was none.",
    }),
    is_same_disk: Type.Boolean({
      description: "The backups are on the disk of the data folder, and would be lost with it.",
    }),
  },
  { title: "BackupsStatus" },
);

export const backupsStatus = (status: BackupStatus): Static<typeof BackupsStatus> => ({
  schedule: status.schedule,
  directory: status.directory,
  newest_at: rfc3339OrNull(status.newestAt),
  newest_size: status.newestSize,
  next_at: rfc3339OrNull(status.nextAt),
  running_since: rfc3339OrNull(status.runningSince),
  last_fault: status.lastFault && {
    at: rfc3339(status.lastFault.at),
    message: status.lastFault.message,
  },
  is_same_disk: status.isSameDisk,
});
