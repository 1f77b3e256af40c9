import type { Instant } from "../../../domain/time.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import { version } from "../../../platform/embedded/version.ts";
import { defineServer } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { formatTable, print, printWarning } from "../../frame/terminal.ts";
import { createHealthReport } from "../../../http/routes/health/health-report.ts";
import { describeNetworks } from "../../../operations/health/exposures.ts";
import { countFindings } from "../../doctor/format-findings.ts";
import { formatListenAddress } from "../../serve/listen-address.ts";
import {
  refuseDebugger,
  refuseUnsupportedPlatform,
  runServer,
  type ServerContext,
} from "../../serve/run-server.ts";
import { settings } from "../../serve/settings.ts";
import { describeCertificate } from "../../tls/tls-files.ts";

export const serveCommand = defineServer({
  name: "serve",
  isCommon: true,
  summary: "run the license server in the foreground",
  options: { ...settings, config: option.config },
  examples: ["berth serve --data /srv/berth", "berth serve --listen 10.1.0.5:8080"],
  run({ config, ...settings }, { environment, platform, setOptions }) {
    refuseUnsupportedPlatform(platform, "site");
    refuseDebugger(environment);
    return runServer({
      kind: "site",
      settings,
      setOptions,
      config,
      environment,
      ready: banner,
    });
  },
});

const AUTHENTICATION_TEXTS = {
  open: "without a login",
  login: "with a token from /auth",
  mtls: "with a certificate, over TLS",
};

const LISTED = "berth status lists them";

async function banner({
  url,
  tlsUrl,
  folder,
  settings,
  ...services
}: ServerContext): Promise<void> {
  const { siteName, listen, metricsListen, clientNetworks, clientAuth } = settings;
  const { applianceStatus, access, certificate, leadership } = services;
  const status = await applianceStatus.read();
  const licenses = status.ok ? status.value.licenses : [];
  const findings = status.ok
    ? createHealthReport(services, status.value, applianceStatus.storageHealth()).findings
    : [];
  const licenseTexts = licenses.map(
    ({ terms, slotsInUse }) => `${terms.product} (${slotsInUse} of ${terms.slots} slots in use)`,
  );
  const networks = describeNetworks(clientNetworks);
  const authentication = AUTHENTICATION_TEXTS[clientAuth];
  print(`berth ${version}`);
  print(
    formatTable([
      ["  site", siteName],
      ["  address", `${formatListenAddress(listen)}, page at ${url}/`],
      ...(tlsUrl === null ? [] : [["  over TLS", tlsUrl]]),
      ...(metricsListen === null
        ? []
        : [["  metrics", `${formatListenAddress(metricsListen)}, without a login`]]),
      ["  data", folder],
      ...(leadership === null
        ? []
        : [
            ["  pair", `host ${leadership.status().host}; berth pair status shows which one leads`],
          ]),
      ...(status.ok ? [["  licenses", licenseTexts.join(", ") || "none yet"]] : []),
      ["  applications", `from ${networks}, ${authentication}`],
      [
        "  administration",
        access.isClaimed() ? "with a credential" : "from this machine only, without a login",
      ],
      ["  findings", status.ok ? `${countFindings(findings) || "none"}; ${LISTED}` : LISTED],
    ]),
  );
  const view = certificate();
  if (view !== null && view.state !== "ok") {
    printWarning(
      `the certificate ${describeCertificate(view.state, rfc3339(view.endsAt as Instant))}`,
    );
  }
  if (!access.isClaimed()) {
    printWarning(
      "administration is open to every user and program on this machine; berth admin token restricts it",
    );
  }
  print("ready");
}
