import { SECOND } from "../../domain/time.ts";
import { checkBackups } from "../../operations/health/backups.ts";
import { METRICS } from "../../operations/metrics/catalogue.ts";
import { single, type MetricFamily } from "../../platform/metrics/metric.ts";
import { wallClock } from "../../platform/clock.ts";
import { version } from "../../platform/embedded/version.ts";
import { writeExposition, type ExpositionFormat } from "../../platform/metrics/exposition.ts";
import type { Services } from "../services.ts";

export type MetricsSources = Pick<
  Services,
  "metrics" | "requestDurations" | "certificate" | "runningServer"
>;

/** When this process started, in seconds since 1970: all its counters were zero then. */
const STARTED_AT = Math.round(performance.timeOrigin) / 1_000;

const MICROSECONDS = 1_000_000;

/** The metrics of this server. */
export const exposeMetrics = (sources: MetricsSources, format: ExpositionFormat): string =>
  writeExposition(collectFamilies(sources), STARTED_AT, format);

function collectFamilies(sources: MetricsSources): MetricFamily[] {
  const { metrics, requestDurations, certificate } = sources;
  return [
    { metric: METRICS.build, samples: [{ labels: [version], value: 1 }] },
    ...metrics.read(),
    ...backupFamilies(sources),
    single(METRICS.certificateEnd, toSeconds(certificate()?.endsAt ?? null)),
    requestDurations.family(),
    ...processFamilies(),
  ];
}

function backupFamilies({ runningServer }: MetricsSources): MetricFamily[] {
  if (runningServer === null) return [];
  const status = runningServer.backups.status();
  const now = wallClock();
  const { schedule, newestAt } = status;
  const isFailing = checkBackups(status, now).findings.some(
    ({ code }) => code === "backup_failed" || code === "backup_overdue",
  );
  return [
    single(METRICS.backupAge, newestAt === null ? null : Math.max(0, now - newestAt) / SECOND),
    single(METRICS.backupFailing, isFailing ? 1 : 0),
    single(METRICS.backupScheduled, schedule === null ? 0 : 1),
  ];
}

function processFamilies(): MetricFamily[] {
  const { user, system } = process.cpuUsage();
  return [
    single(METRICS.processCpu, (user + system) / MICROSECONDS),
    single(METRICS.processMemory, process.memoryUsage.rss()),
    single(METRICS.processStart, STARTED_AT),
  ];
}

const toSeconds = (at: number | null): number | null => (at === null ? null : at / SECOND);
