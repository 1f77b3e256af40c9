import { leadAlone } from "../../../operations/pair/lead-alone.ts";
import { describeForCommandLine } from "../../../faults/catalog.ts";
import type { AnyFault } from "../../../faults/fault-types.ts";
import type { Result } from "../../../domain/result.ts";
import { findFolderError } from "../../../operations/folder/folder-error.ts";
import { requireDataFolder } from "../../../operations/folder/folder-contents.ts";
import { SOCKET_PEER } from "../../../platform/network/networks.ts";
import { unwrapReply, withRunningServer } from "../../client/admin-client.ts";
import { Failure, ServerRefused } from "../../frame/command.ts";
import { checkConfirmable, confirm } from "../../frame/confirm.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { openAppliance, type PairSettings } from "../../serve/appliance.ts";
import { readPairOptions } from "../../serve/pair-options.ts";
import { pairSettings } from "../../serve/pair-settings.ts";
import { flag } from "../../frame/options.ts";

interface LeavingSite {
  readonly data: string;
  readonly identity: string | null;
}

export const leaveCommand = defineCommand({
  name: "pair leave",
  summary: "end the pair: this host serves alone, without the database",
  options: {
    ...siteOptions,
    ...pairSettings,
    withoutDatabase: flag(
      "--without-database",
      "the database is lost: continue with the copy of this host; its server must be stopped",
    ),
    yes: option.yes,
    json: option.json,
  },
  examples: ["berth pair leave", "berth pair leave --without-database"],
  async run(options, context) {
    const { data: folder, withoutDatabase, pairHost } = options;
    requireDataFolder(folder);
    const question = withoutDatabase
      ? `${folder} will be served by host ${pairHost} alone; changes that only the database has are lost; continue?`
      : `host ${pairHost} will serve ${folder} alone, and the other host no longer; continue?`;
    checkConfirmable(options, question);
    context.show(withoutDatabase ? WITHOUT_DATABASE : WITH_DATABASE);
    await confirm(options, question);
    const host = withoutDatabase
      ? await leaveWithoutDatabase(options)
      : ((await leaveByServer(folder)) ?? (await leaveByLog(options, readPairOptions(options))));
    return {
      json: { host, without_database: withoutDatabase },
      text: `the pair ended: host ${host} serves alone from now on.
Remove pair_log from the settings of this host, and start the server again.
On the other host: stop the server, and keep it stopped.`,
      warnings: withoutDatabase ? [LOSS_WARNING] : [],
    };
  },
});

const WITH_DATABASE = `The pair ends. This host stops answering until it is started without pair_log.
The other host and the log in the database are refused from then on.`;

const WITHOUT_DATABASE = `The pair ends without its database. This host continues with its own copy.
Changes that the database acknowledged, and that this host had not copied, are lost.
If the other host is started again with the database, both lend the same slots: keep it stopped.`;

const LOSS_WARNING =
  "it is unknown whether changes were lost; keep the other host stopped, and do not use the old database again";

/** Null: no server runs. */
const leaveByServer = (folder: string): Promise<string | null> =>
  withRunningServer(folder, async ({ admin }) => {
    const { appliance } = await unwrapReply(admin.status.get());
    return (await unwrapReply(admin.pair.leave.post({ appliance: appliance.id }))).host;
  });

async function leaveByLog(site: LeavingSite, pair: PairSettings | null): Promise<string> {
  if (pair === null) {
    throw new Failure(
      "pair_log is not set",
      "set it to the database of the pair; if the database is lost, use --without-database",
    );
  }
  const appliance = await openFolder(site, { ...pair, patienceMs: 0 }).catch(adviseLostDatabase);
  try {
    const { leadership, pairMembership } = appliance;
    if (pairMembership.status()?.hosts.length === 0) refuseFault({ code: "not_a_pair" });
    if (leadership !== null) await leadAlone(leadership, pair.termMs);
    return unwrapHost(await pairMembership.leave(SOCKET_PEER));
  } finally {
    await appliance.close();
  }
}

/** The operator may have no database any more. */
function adviseLostDatabase(error: unknown): never {
  const refusal = findFolderError(error);
  if (refusal === null || refusal.code === "folder_in_use") throw error;
  throw new Failure(
    refusal.message,
    `${refusal.hint}; if the database is lost, berth pair leave --without-database continues with the copy of this host`,
    refusal.code,
  );
}

async function leaveWithoutDatabase(site: LeavingSite & { pairHost: string }): Promise<string> {
  if ((await withRunningServer(site.data, async () => true)) !== null) {
    throw new Failure(
      `a server is running in ${site.data}`,
      "stop it first: its last changes may still be under way",
      "folder_in_use",
    );
  }
  const appliance = await openFolder(site, null);
  try {
    return unwrapHost(await appliance.pairMembership.leave(SOCKET_PEER, site.pairHost));
  } finally {
    await appliance.close();
  }
}

const openFolder = (
  { data: folder, identity: identityName }: LeavingSite,
  pair: PairSettings | null,
) =>
  openAppliance({
    folder,
    identityName,
    kind: "site",
    create: false,
    holder: "command",
    ...(pair && { pair }),
  });

const unwrapHost = (left: Result<{ readonly host: string }, AnyFault>): string =>
  left.ok ? left.value.host : refuseFault(left.fault);

function refuseFault(fault: AnyFault): never {
  const { message, hint } = describeForCommandLine(fault);
  throw new ServerRefused(fault.code, message, hint);
}
