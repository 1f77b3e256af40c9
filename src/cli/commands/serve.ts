import type { Instant } from "../../domain/time.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { version } from "../../platform/version.ts";
import {
  getDataFolder,
  getListFlag,
  getStringFlag,
  type Command,
  type FlagValues,
} from "../frame/command.ts";
import { option, serverSettings } from "../frame/flags.ts";
import { describeNetworks } from "../serve/exposures.ts";
import {
  refuseDebugger,
  refuseUnsupportedPlatform,
  runServer,
  type ServerContext,
} from "../serve/run-server.ts";
import { print, printWarning, formatTable } from "../frame/terminal.ts";
import { describeCertificate } from "../tls/tls-files.ts";

export const serveCommand: Command = {
  name: "serve",
  isCommon: true,
  summary: "run the license server in the foreground",
  options: [...serverSettings, option.config],
  examples: ["berth serve --data /srv/berth", "berth serve --listen 10.1.0.5:8080"],
  async run(flags) {
    refuseUnsupportedPlatform(flags, "site");
    refuseDebugger(flags);
    const folder = getDataFolder(flags);
    return runServer(flags, folder, "site", nothingToPrepare, (server) => banner(server, flags));
  },
};

const nothingToPrepare = async (): Promise<void> => {};

async function banner(
  { applianceStatus, access, exposures, certificate, url, tlsUrl, folder }: ServerContext,
  flags: FlagValues,
): Promise<void> {
  const status = await applianceStatus.read();
  const licenses = status.ok ? status.value.licenses : [];
  const licenseTexts = licenses.map(
    ({ terms, slotsInUse }) => `${terms.product} (${slotsInUse} of ${terms.slots} slots in use)`,
  );
  const networks = describeNetworks(getListFlag(flags, "client-networks"));
  const authentication = {
    open: "without a login",
    login: "with a token from /auth",
    mtls: "with a certificate, over TLS",
  }[getStringFlag(flags, "client-auth") ?? "open"];
  print(`berth ${version}`);
  print(
    formatTable([
      ["  address", `${getStringFlag(flags, "listen")}, page at ${url}/`],
      ...(tlsUrl === null ? [] : [["  over TLS", tlsUrl]]),
      ["  data", folder],
      ["  licenses", licenseTexts.join(", ") || "none yet"],
      ["  applications", `from ${networks}, ${authentication}`],
      [
        "  administration",
        access.isClaimed() ? "with a credential" : "from this machine only, without a login",
      ],
      ["  exposures", `${exposures().length}; berth status lists them and how to remove them`],
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
