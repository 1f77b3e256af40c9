import { version } from "../../platform/version.ts";
import { dataFolder, listOf, stringOf, type Command, type Given } from "../command.ts";
import { option } from "../flags.ts";
import { serveFolder, type Server } from "../serving.ts";
import { print, table } from "../terminal.ts";

export const serve: Command = {
  name: "serve",
  summary: "run a site's server in the foreground",
  options: [
    option.data,
    option.listen,
    option.clientNetworks,
    option.identity,
    option.historyKeepMonths,
    option.config,
  ],
  examples: ["berth serve --data /srv/berth", "berth serve --listen 10.1.0.5:8080"],
  run(given) {
    const folder = dataFolder(given);
    return serveFolder(given, folder, "site", nothingToPrepare, (server) => banner(server, given));
  },
};

const nothingToPrepare = async (): Promise<void> => {};

async function banner({ operations, url, folder }: Server, given: Given): Promise<void> {
  const status = await operations.status();
  const licenses = status.ok ? status.value.licenses : [];
  const named = licenses.map(
    ({ terms, slotsInUse }) => `${terms.product} (${slotsInUse} of ${terms.slots} slots in use)`,
  );
  const networks =
    listOf(given, "client-networks").join(", ") || "private networks and this machine's own";
  print(`berth ${version}`);
  print(
    table([
      ["  address", `${stringOf(given, "listen")}, page at ${url}/`],
      ["  data", folder],
      ["  licenses", named.join(", ") || "none yet"],
      ["  applications", `from ${networks}, without a login`],
      ["  administration", "from this machine only, without a login"],
    ]),
  );
  print("ready");
}
