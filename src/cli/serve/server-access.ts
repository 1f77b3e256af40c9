import type { AccessPolicy } from "../../http/server.ts";
import type { AccessControl } from "../../operations/access/access-control.ts";
import type { ServerAccess } from "../../operations/health/exposures.ts";
import { formatListenAddress } from "./listen-address.ts";
import type { ServeSettings } from "./settings.ts";

interface AccessSources {
  readonly policy: AccessPolicy;
  readonly access: AccessControl;
  readonly settings: Pick<
    ServeSettings,
    "listen" | "listenTls" | "metricsListen" | "clientNetworks" | "adminNetworks"
  >;
}

/** How this server can be reached, and by whom: its settings, and whether a credential exists. */
export const describeServerAccess = ({
  policy,
  access,
  settings,
}: AccessSources): ServerAccess => ({
  isClaimed: access.isClaimed(),
  isDemo: policy.adminOpen,
  clientAuth: policy.clientAuth,
  allowsPlainCredentials: policy.allowPlain,
  clientNetworks: settings.clientNetworks,
  adminNetworks: settings.adminNetworks,
  plainHost: settings.listen.host,
  plainAddress: formatListenAddress(settings.listen),
  hasTls: settings.listenTls !== null,
  metrics: settings.metricsListen && {
    host: settings.metricsListen.host,
    address: formatListenAddress(settings.metricsListen),
  },
});
