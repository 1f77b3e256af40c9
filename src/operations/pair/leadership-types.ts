import type { HardwareDigest } from "../../domain/model/hardware-digest.ts";
import type { ApplianceClock } from "../../platform/clock.ts";
import type { DatabaseReport, HostLog, HostRow } from "../../store/log/shared-log.ts";
import type { Store } from "../../store/store.ts";

export interface LeadershipOptions {
  readonly store: Pick<Store, "follow" | "lead" | "stopLeading" | "status" | "peek">;
  readonly log: HostLog;
  readonly host: string;
  readonly hardwareId: string;
  readonly hardware: readonly HardwareDigest[];
  /** Where clients reach this host; null: not known. */
  readonly url: string | null;
  readonly version: string;
  /** How long the leader may answer after its last renewal; another host waits as long. */
  readonly termMs: number;
  readonly pollMs: number;
  /** Milliseconds of a clock that never jumps, and that continues while the machine sleeps. */
  readonly bootMs: () => number;
  readonly systemTime: () => number;
  /** Absent: by the clock of the process. */
  readonly sleep?: typeof Bun.sleep;
  /** Who keeps the time of the appliance; absent: it does not matter. */
  readonly clock?: Pick<ApplianceClock, "follow" | "lead">;
}

/** What this host is in the pair. */
export type Role =
  | { readonly role: "leader"; readonly epoch: number }
  /** `url`: where clients reach the leader; null: it is not known. */
  | { readonly role: "standby"; readonly leader: string | null; readonly url: string | null };

/** What the last readings of the log showed. */
export interface LeadershipStatus {
  readonly host: string;
  readonly role: "leader" | "standby";
  readonly mayAnswer: boolean;
  /** Null: the log was not read yet. */
  readonly epoch: number | null;
  /** The host that leads; null: none does, or it is not known. */
  readonly leader: string | null;
  readonly leaderUrl: string | null;
  /** Why this host can neither lead nor follow; null: it can. */
  readonly problem: string | null;
  /** Whether that is because the log cannot be used. */
  readonly isLogAway: boolean;
  readonly hosts: readonly HostRow[];
  readonly database: DatabaseReport | null;
}
