import { readFileSync } from "node:fs";
import { messageOfError } from "../../platform/error-message.ts";
import { FolderRefused } from "../../store/folder/refusal.ts";
import type { LogUrl } from "../../store/log/postgres/log-url.ts";
import { openPostgresLog } from "../../store/log/postgres/open-log.ts";
import type { HostLog } from "../../store/log/shared-log.ts";
import type { LogFolder, StoreOptions } from "../../store/store-options.ts";

export { parseLogUrl, type LogUrl } from "../../store/log/postgres/log-url.ts";

/** How this host takes part in a pair. */
export interface PairOptions {
  readonly url: LogUrl;
  /** Null: the credential of the service manager, if there is one. */
  readonly passwordFile: string | null;
  /** The credential of the service manager; null: none was passed. */
  readonly passwordCredential: string | null;
  readonly host: string;
  readonly clientUrl: string | null;
  readonly termMs: number;
}

export interface PairLog extends HostLog {
  readonly close: () => Promise<void>;
}

/** A statement ends within this part of the term, so that an unknown outcome is found in time. */
const DEADLINE_SHARE = 0.5;

/** Opens the log of the pair, or refuses the set-up. */
export function openPairLog(
  { url, passwordFile, passwordCredential, host, clientUrl, termMs }: PairOptions,
  folder: LogFolder,
): Promise<PairLog> {
  return openPostgresLog(
    {
      url,
      password: passwordFile === null ? passwordCredential : readPassword(passwordFile),
      name: `berth ${host}`,
      deadlineMs: termMs * DEADLINE_SHARE,
      host,
      clientUrl,
    },
    folder,
  );
}

/** The first line: an editor adds a line break. */
function readPassword(path: string): string {
  try {
    return readFileSync(path, "utf8").split("\n")[0] ?? "";
  } catch (error) {
    throw new FolderRefused(
      `the password of the pair's database cannot be read: ${messageOfError(error)}`,
      `check the file ${path}`,
    );
  }
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
