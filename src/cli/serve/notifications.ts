import {
  createHealthReport,
  createStandbyReport,
  type HealthSources,
} from "../../http/routes/health/health-report.ts";
import type { Services } from "../../http/services.ts";
import {
  createProgramChannel,
  createSyslogChannel,
  type Channel,
} from "../../operations/notifications/channels.ts";
import { Notifier, type Observation } from "../../operations/notifications/notifier.ts";
import { isDiskFault } from "../../operations/health/appliance-status.ts";
import { wallClock } from "../../platform/clock.ts";
import type { LiveSettings } from "./live-settings.ts";
import type { ServeSettings } from "./settings.ts";

type NotificationSources = HealthSources & Pick<Services, "demandCounts">;

/** Notifications of a server, as its settings want them. */
export const createNotifier = (
  live: Pick<LiveSettings, "current">,
  sources: () => NotificationSources,
  monotonicMs: () => number = () => performance.now(),
): Notifier =>
  new Notifier({
    channels: listChannels(live.current),
    events: live.current.events,
    poolFullMinutes: live.current.poolFullMinutes,
    siteName: () => live.current.siteName,
    observe: () => observe(sources()),
    monotonicMs,
    wallClock,
  });

const listChannels = ({
  onEvent,
  eventSyslog,
}: Pick<ServeSettings, "onEvent" | "eventSyslog">): Channel[] => [
  ...(onEvent.length === 0 ? [] : [createProgramChannel(onEvent)]),
  ...(eventSyslog === null ? [] : [createSyslogChannel(eventSyslog)]),
];

/** The same findings that the page and `berth status` show; on standby those of this host. */
async function observe(sources: NotificationSources): Promise<Observation | null> {
  const observeHost = (): Observation => {
    const { findings } = createStandbyReport(sources);
    return { at: sources.timekeeping.view().now, findings, licenses: [], demandCounts: [] };
  };
  if (sources.leadership?.mayAnswer() === false) return observeHost();
  const storageHealth = sources.applianceStatus.storageHealth();
  const overview = await sources.applianceStatus.read();
  if (!overview.ok) {
    // Of the site, nothing is known that a crash could not undo.
    const { fault } = sources.applianceStatus.storageStatus();
    return isDiskFault(fault) ? { ...observeHost(), isPartial: true } : null;
  }
  const { now: at, licenses } = overview.value;
  const { findings } = createHealthReport(sources, overview.value, storageHealth);
  return { at, findings, licenses, demandCounts: sources.demandCounts.list() };
}
