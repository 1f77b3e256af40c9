import { wallClock } from "../../platform/clock.ts";
import { version } from "../../platform/embedded/version.ts";
import { readBootClock } from "../../platform/system/boot-clock.ts";
import type { HostLog } from "../../store/log/shared-log.ts";
import type { Store } from "../../store/store.ts";
import type { Identity } from "../identity.ts";
import { Leadership } from "./leadership.ts";
import type { PairOptions } from "./open-log.ts";

const POLL_MS = 200;

/** Decides between the hosts of a pair, with the clocks of this machine. */
export function createLeadership(
  { host, clientUrl: url, termMs }: PairOptions,
  log: HostLog,
  store: Store,
  identity: Identity,
): Leadership {
  const { hardware, hardwareId } = identity.hashHardware();
  const pollMs = Math.min(POLL_MS, termMs / 10);
  return new Leadership({
    store,
    log,
    host,
    hardware,
    hardwareId,
    url,
    version,
    termMs,
    pollMs,
    bootMs: readBootClock,
    systemTime: wallClock,
  });
}
