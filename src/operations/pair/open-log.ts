import { log } from "../../platform/log.ts";
import type { LogUrl } from "../../store/log/postgres/log-url.ts";
import { checkPostgresLog, openPostgresLog } from "../../store/log/postgres/open-log.ts";
import type { PostgresLogOptions } from "../../store/log/postgres/postgres-log.ts";
import { LogUnavailable, type DatabaseReport, type HostLog } from "../../store/log/shared-log.ts";
import type { LogFolder, StoreOptions } from "../../store/store-options.ts";
import { readLogPassword, type LogPasswordSources } from "./log-password.ts";

export { parseLogUrl, type LogUrl } from "../../store/log/postgres/log-url.ts";

/** How this host takes part in a pair. */
export interface PairOptions extends LogPasswordSources {
  readonly url: LogUrl;
  readonly host: string;
  readonly clientUrl: string | null;
  readonly termMs: number;
  /** How long to wait for the database at the start. */
  readonly patienceMs?: number;
  /** Whether this process is to stop: it then waits no longer. */
  readonly isStopping?: () => boolean;
}

export interface PairLog extends HostLog {
  readonly close: () => Promise<void>;
}

/** A statement ends within this part of the term, so that an unknown outcome is found in time. */
const DEADLINE_SHARE = 0.5;

/** After a power cut the database may start later than this host. */
const PATIENCE_MS = 60_000;
const RETRY_MS = 1_000;

/**
 * Opens the log of the pair, or refuses the set-up. A host of a pair waits for its database; a host
 * that forms a pair does not.
 */
export async function openPairLog(options: PairOptions, folder: LogFolder): Promise<PairLog> {
  const { patienceMs = folder.pair === null ? 0 : PATIENCE_MS, isStopping } = options;
  const deadline = performance.now() + patienceMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await openOnce(options, folder);
    } catch (error) {
      const isOver = performance.now() >= deadline || isStopping?.() === true;
      if (!(error instanceof LogUnavailable) || isOver) throw error;
      if (attempt === 1) log.warn("waiting for the database", { problem: error.message });
      await Bun.sleep(RETRY_MS);
    }
  }
}

const openOnce = (options: PairOptions, folder: LogFolder): Promise<PairLog> =>
  openPostgresLog(toLogOptions(options), folder);

/** Checks the set-up of the database, and creates nothing; throws what a start would throw. */
export const checkPairLog = (
  options: PairOptions,
  appliance: string | null,
): Promise<DatabaseReport> => checkPostgresLog(toLogOptions(options), appliance);

function toLogOptions(options: PairOptions): PostgresLogOptions {
  const { url, host, clientUrl, termMs } = options;
  return {
    url,
    readPassword: (server) => readLogPassword(options, url, server),
    name: `berth ${host}`,
    deadlineMs: termMs * DEADLINE_SHARE,
    host,
    clientUrl,
  };
}

/**
 * For a folder that is opened without the log of its pair: no change may get into its journal that
 * the log does not have. Only the end of the pair may, because then the log is gone.
 */
export function refuseWithoutLog(): NonNullable<StoreOptions["findChangeFault"]> {
  let wasPair: boolean | null = null;
  return ({ pair }, command) => {
    // The pair that a command forms has no log yet.
    wasPair ??= pair !== null;
    if (!wasPair || pair === null || command?.type === "LeavePair") return null;
    return { code: "pair_read_only", leader: pair.leader };
  };
}
