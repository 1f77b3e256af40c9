import { version } from "../../platform/embedded/version.ts";
import { PairRefused } from "../../store/folder/refusal.ts";
import { LogUnavailable, type HostLog } from "../../store/log/shared-log.ts";
import type { VerifyReport } from "../folder/verify.ts";
import { MAX_SKEW_MS } from "./clock-skew.ts";
import { openPairLog, type PairOptions } from "./open-log.ts";

/**
 * Throws unless this host can reach the log of the pair, and its clock agrees with the clock of the
 * other host. The report of this host keeps the lines in the log that it will need.
 */
export async function checkJoin(
  options: PairOptions,
  { appliance, pair, head }: VerifyReport,
  systemTime: () => number,
): Promise<void> {
  const { host, clientUrl: url } = options;
  const admitted = pair?.hosts.get(host);
  if (pair === null || admitted === undefined) {
    throw new PairRefused(
      `host ${host} was not admitted to the pair`,
      "run berth pair admit again on the other host",
    );
  }
  const end = { seq: head.seq, sum: head.sum };
  const log = await openPairLog(options, { appliance, pair, end });
  try {
    const { hardwareId } = admitted;
    const report = { host, hardwareId, url, version, head: end, covered: end.seq };
    await log.reportHost({ ...report, systemTime: systemTime() });
    await checkClocks(log, host);
  } catch (error) {
    if (!(error instanceof LogUnavailable)) throw error;
    throw new PairRefused(
      `the database of the pair cannot be used: ${error.message}`,
      `check ${options.url.text}, and the password of ${options.url.user}`,
    );
  } finally {
    await log.close();
  }
}

/** A host that has not reported has no clock to compare with. */
async function checkClocks(log: HostLog, host: string): Promise<void> {
  const rows = await log.readHosts();
  const joining = rows.find((row) => row.host === host);
  const other = rows.find((row) => row.host !== host);
  if (joining === undefined || other === undefined) return;
  const skew = joining.clockAheadMs - other.clockAheadMs;
  if (Math.abs(skew) <= MAX_SKEW_MS) return;
  await log.removeHost(host);
  const seconds = Math.round(Math.abs(skew) / 1_000);
  throw new PairRefused(
    `the clock of this host is ${seconds} s ${skew > 0 ? "ahead of" : "behind"} the clock of host ${other.host}`,
    "set both clocks by NTP; a pair needs clocks that differ by 10 s at most",
  );
}
