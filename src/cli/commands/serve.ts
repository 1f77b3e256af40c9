import type { Instant } from "../../domain/time.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { version } from "../../platform/version.ts";
import {
  getDataFolder,
  getListFlag,
  getStringFlag,
  type Command,
  type FlagValues,
} from "../command.ts";
import { option, serverSettings } from "../flags.ts";
import { describeNetworks } from "../exposures.ts";
import {
  refuseDebugger,
  refuseUnsupportedPlatform,
  runServer,
  type ServerContext,
} from "../run-server.ts";
import { print, printWarning, formatTable } from "../terminal.ts";
import { describeCertificate } from "../tls-files.ts";

export const serveCommand: Command = {
  name: "serve",
  isCommon: true,
  summary: "run the license server in the foreground",
  options: [...serverSettings, option.config],
  examples: ["berth serve --data /srv/berth", "berth serve --listen 10.1.0.5:8080"],
  async run(given) {
    refuseUnsupportedPlatform(given, "site");
    refuseDebugger(given);
    const folder = getDataFolder(given);
    return runServer(given, folder, "site", nothingToPrepare, (server) => banner(server, given));
  },
};

const nothingToPrepare = async (): Promise<void> => {};

async function banner(
  { operations, access, exposures, certificate, url, tlsUrl, folder }: ServerContext,
  given: FlagValues,
): Promise<void> {
  const status = await operations.status();
  const licenses = status.ok ? status.value.licenses : [];
  const named = licenses.map(
    ({ terms, slotsInUse }) => `${terms.product} (${slotsInUse} of ${terms.slots} slots in use)`,
  );
  const networks = describeNetworks(getListFlag(given, "client-networks"));
  const how = {
    open: "without a login",
    login: "with a token from /auth",
    mtls: "with a certificate, over TLS",
  }[getStringFlag(given, "client-auth") ?? "open"];
  print(`berth ${version}`);
  print(
    formatTable([
      ["  address", `${getStringFlag(given, "listen")}, page at ${url}/`],
      ...(tlsUrl === null ? [] : [["  over TLS", tlsUrl]]),
      ["  data", folder],
      ["  licenses", named.join(", ") || "none yet"],
      ["  applications", `from ${networks}, ${how}`],
      [
        "  administration",
        access.isClaimed() ? "with a credential" : "from this machine only, without a login",
      ],
      ["  exposures", `${exposures().length}; berth status lists them and how to remove them`],
    ]),
  );
  const ends = certificate();
  if (ends !== null && ends.state !== "ok") {
    printWarning(
      `the certificate ${describeCertificate(ends.state, rfc3339(ends.endsAt as Instant))}`,
    );
  }
  if (!access.isClaimed()) {
    printWarning(
      "administration is open to every user and program on this machine; berth admin token restricts it",
    );
  }
  print("ready");
}
