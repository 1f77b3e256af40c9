import { wallClock, type ApplianceClock } from "../../platform/clock.ts";
import { version } from "../../platform/embedded/version.ts";
import { readBootClock } from "../../platform/system/boot-clock.ts";
import type { HostLog } from "../../store/log/shared-log.ts";
import type { Store } from "../../store/store.ts";
import type { Identity } from "../appliance/identity.ts";
import { Leadership } from "./leadership.ts";
import { LogTrimmer } from "./log-trimmer.ts";
import type { PairOptions } from "./open-log.ts";

const POLL_MS = 200;
/** So that a short term does not pass between two steps. */
const POLLS_PER_TERM = 10;

/** The leadership of this host, with the real clocks. */
export function createLeadership(
  { host, clientUrl: url, termMs }: PairOptions,
  log: HostLog,
  store: Store,
  { identity, clock }: { readonly identity: Identity; readonly clock: ApplianceClock },
): Leadership {
  const { hardware, hardwareId } = identity.hashHardware();
  const leadership = new Leadership({
    store,
    log,
    host,
    hardware,
    hardwareId,
    url,
    version,
    termMs,
    pollMs: Math.min(POLL_MS, termMs / POLLS_PER_TERM),
    bootMs: readBootClock,
    systemTime: wallClock,
    clock,
  });
  leadership.addListener(new LogTrimmer({ store, log }));
  return leadership;
}
