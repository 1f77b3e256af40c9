import type { DataFolderKind } from "../../domain/model/state.ts";
import type { AccessPolicy } from "../../http/server.ts";
import { readEditedSettings } from "../../operations/settings/setting-changes.ts";
import { describeError, type Refusal } from "../frame/error-report.ts";
import { Failure } from "../frame/command.ts";
import { readCertificate } from "../tls/tls-files.ts";
import {
  checkMetricsAddress,
  checkTlsSettings,
  createAccessPolicy,
  type LivePolicySettings,
} from "./access-policy.ts";
import type { ListenAddress } from "./listen-address.ts";
import { checkAddress, type TlsEndpoint } from "./listeners.ts";
import { LiveSettings } from "./live-settings.ts";
import { refuseRelativeProgram } from "./notification-settings.ts";
import type { ServeSettings } from "./settings.ts";

export interface StartSettings {
  readonly plain: ListenAddress;
  /** Null: no TLS listener. */
  readonly tls: TlsEndpoint | null;
  /** Where the metrics are served without a token; null: nowhere. */
  readonly metrics: ListenAddress | null;
  readonly policy: AccessPolicy;
}

/** Checks the settings together, before a folder is created or a port is opened. */
export function readStartSettings(live: LivePolicySettings, kind: DataFolderKind): StartSettings {
  const settings = live.current;
  const { listen: plain, listenTls, metricsListen: metrics } = settings;
  checkTlsSettings(settings);
  if (kind === "demo" && (settings.pairLog ?? null) !== null) {
    throw new Failure(
      "a demo cannot be a host of a pair",
      "unset pair_log, or run berth serve on two hosts",
    );
  }
  refuseRelativeProgram(settings.onEvent);
  checkMetricsAddress(settings);
  const read = () => readCertificate(settings);
  const tls = listenTls && { ...listenTls, readCertificate: read, certificate: read() };
  return { plain, tls, metrics, policy: createAccessPolicy(live, kind) };
}

/** The first reason why a start would be refused; null: there is none. */
export async function findStartRefusal(
  settings: ServeSettings,
  listenAddresses: readonly ListenAddress[],
): Promise<Refusal | null> {
  try {
    const edited = readEditedSettings(settings.data);
    readStartSettings(
      new LiveSettings({ settings, setOptions: [], environment: {}, edited }),
      "site",
    );
    for (const address of listenAddresses) await checkAddress(address);
    return null;
  } catch (error) {
    return describeError(error).refusal;
  }
}
