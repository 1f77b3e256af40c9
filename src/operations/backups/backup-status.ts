import type { Instant } from "../../domain/time.ts";

/** What is known about the backups of a running server. */
export interface BackupStatus {
  /** As the setting is written; null: backups are off. */
  readonly schedule: string | null;
  readonly directory: string;
  /** When the newest backup was made; null: there is none. */
  readonly newestAt: Instant | null;
  readonly newestSize: number | null;
  /** When the next one is due; in the past if it is overdue. Null: backups are off. */
  readonly nextAt: Instant | null;
  /** Since when a backup is being made; null: none is. */
  readonly runningSince: Instant | null;
  /** The last attempt failed; null: it succeeded, or there was none. */
  readonly lastFault: { readonly at: Instant; readonly message: string } | null;
  /** Whether the backups are on the disk of the data folder, and would be lost with it. */
  readonly isSameDisk: boolean;
}
