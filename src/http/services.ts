import type { FullCheck } from "../operations/health/assess-health.ts";
import type { ServerAccess } from "../operations/health/exposures.ts";
import type { ApplianceOperations } from "../operations/wire.ts";
import type { RunningServer } from "./running-server.ts";
import type { RequestDurations } from "./metrics/request-durations.ts";
import type { StatusStreams } from "./routes/page/status-streams.ts";

/** The services that the routes use. */
export interface Services extends ApplianceOperations {
  readonly streams: StatusStreams;
  readonly requestDurations: RequestDurations;
  /** How commands for this server are called in a terminal on its machine. */
  readonly commandLine: CommandLine;
  /** How the server can be reached; null while no listener is open. */
  readonly serverAccess: () => ServerAccess | null;
  /** The last run of all checks of `berth doctor`; null: none since the start. */
  readonly fullCheck: () => FullCheck | null;
  /** Certificate of the TLS listener; null without one. */
  readonly certificate: () => CertificateView | null;
  /** Read at each use: administrators can change them. */
  readonly siteSettings: () => SiteSettings;
  /** Null: no server runs; a command opened the data folder itself. */
  readonly runningServer: RunningServer | null;
}

export interface CommandLine {
  /** As a shell needs it. */
  readonly executable: string;
  readonly needsSudo: boolean;
  /** Empty: commands find the data folder without --data. */
  readonly dataFolder: string;
}

/** Settings that replies and messages show. */
export interface SiteSettings {
  readonly siteName: string;
  /** So many days before its end, a license, certificate or token is reported. */
  readonly expiryWarningDays: number;
}

export interface CertificateView {
  readonly endsAt: number;
  readonly state: "ok" | "expiring" | "expired";
}
