import { join } from "node:path";
import { backupReply } from "../../../http/routes/backups/backup-reply.ts";
import {
  defaultBackupDirectory,
  readBackupFolder,
} from "../../../operations/backups/backup-folder.ts";
import { realDisk } from "../../../platform/files/disk.ts";
import { runAsFolderOwner } from "../../../platform/files/owner.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import { requireDataFolder } from "../../../operations/folder/folder-contents.ts";
import { unwrapReply, withAdminClient, withRunningServer } from "../../client/admin-client.ts";
import { Failure } from "../../frame/command.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { formatList } from "../../frame/terminal.ts";

/** Reads the folder itself: an operator needs the list most when the server does not start. */
const listCommand = defineCommand({
  name: "backup list",
  summary: "list the backups that the server made by its schedule",
  options: {
    data: option.data,
    backupDir: option.backupDir,
    config: option.config,
    json: option.json,
  },
  examples: ["berth backup list --data /srv/berth"],
  async run({ data, backupDir }) {
    const directory =
      backupDir ?? (await readServedDirectory(data)) ?? defaultBackupDirectory(data);
    const { backups, isSameDisk } = await runAsFolderOwner(data, async () => {
      refuseMissingFolder(data, directory);
      return readBackupFolder(realDisk, { dataFolder: data, directory });
    });
    return {
      json: { directory, is_same_disk: isSameDisk, backups: backups.map(backupReply) },
      text: formatList(
        backups.map((backup) => ({
          made: rfc3339(backup.madeAt),
          size: formatSize(backup.size),
          line: backup.seq ?? "",
          state: backup.finding ?? "verified when made",
          file: join(directory, backup.name),
        })),
        `no backups in ${directory}; berth backup now makes one`,
      ),
    };
  },
});

/** The folder that a running server uses, which a flag may name; null: no server runs. */
const readServedDirectory = (data: string): Promise<string | null> =>
  withRunningServer(data, async ({ admin }) => {
    const { backups } = await unwrapReply(admin.status.get());
    return backups?.directory ?? null;
    // The list must not depend on a server that cannot answer.
  }).catch(() => null);

/** An empty list would say that there are no backups; their disk may only be missing. */
function refuseMissingFolder(data: string, directory: string): void {
  if (directory === defaultBackupDirectory(data)) {
    requireDataFolder(data);
  } else if (realDisk.stat(directory) === null) {
    throw new Failure(
      `the backup folder ${directory} does not exist`,
      "mount its disk, or name another folder with --backup-dir DIR",
    );
  }
}

const nowCommand = defineCommand({
  name: "backup now",
  summary: "let the running server make a verified backup in its backup folder",
  options: { ...siteOptions, json: option.json },
  examples: ["berth backup now --data /srv/berth"],
  run: (site, context) =>
    withAdminClient(site, context, async ({ admin }) => {
      const backup = await unwrapReply(admin.backups.post({})).catch(refuseWithoutServer);
      const { backups } = await unwrapReply(admin.status.get());
      const path = join(backups?.directory ?? "", backup.name);
      return {
        json: { path, ...backup },
        text: `${path} (${formatSize(backup.size)}) is written and checked. It contains the appliance's key: keep it safe.`,
      };
    }),
});

function refuseWithoutServer(error: unknown): never {
  if (!(error instanceof Failure) || error.code !== "server_not_running") throw error;
  throw new Failure(
    "no server is running",
    "start it, or write a backup without a server: berth backup FILE",
    error.code,
  );
}

const KIB = 1024;

/** With three digits: 12.3 MiB. */
function formatSize(bytes: number): string {
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let size = bytes / KIB;
  while (size >= 1000 && units.length > 1) {
    size /= KIB;
    units.shift();
  }
  return `${size.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0)} ${units[0]}`;
}

export const storedBackupCommands = [listCommand, nowCommand];
