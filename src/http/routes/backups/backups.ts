import { Type, type Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { BackupScheduler } from "../../../operations/backups/backup-scheduler.ts";
import { readRegularFile } from "../../../platform/files/read-regular-file.ts";
import { errorCode } from "../../../platform/files/system-error.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import { BackupReply, backupReply } from "./backup-reply.ts";
import { BackupsStatus, backupsStatus } from "./backups-status.ts";
import { jsonBody } from "../../request/body.ts";
import { fields, readIdentifier } from "../../request/fields.ts";
import type { RouteDeps } from "../deps.ts";

const BackupsReply = Type.Object(
  {
    ...BackupsStatus.properties,
    backups: Type.Array(BackupReply, { description: "Newest first." }),
  },
  { title: "Backups" },
);

export type { BackupReply };
export type BackupsReply = Static<typeof BackupsReply>;

const EmptyBody = Type.Object({});
const BackupBody = Type.Object({ backup: fields.backup }, { title: "BackupBody" });
const COMMON_REFUSALS = ["server_not_running", "maintenance_failed", "too_many_jobs"] as const;
const NAME_REFUSALS = ["missing_parameters", "unknown_backup"] as const;

/** Backups that the server makes by its schedule, or on request, in a folder of its own. */
export const backups = ({ runningServer, keepOpen }: RouteDeps) => {
  const run = async <T>(
    request: Request,
    use: (scheduler: BackupScheduler) => Promise<T>,
  ): Promise<T> => {
    if (runningServer === null) return refuse({ code: "server_not_running" });
    const release = keepOpen(request);
    try {
      return await use(runningServer.backups);
    } finally {
      release();
    }
  };
  return new Elysia({ name: "backups", prefix: "/api/admin/v1" })
    .get(
      "/backups",
      ({ request }) =>
        run(request, async (scheduler): Promise<BackupsReply> => {
          const { backups } = unwrap(await scheduler.list());
          return { ...backupsStatus(scheduler.status()), backups: backups.map(backupReply) };
        }),
      describeRoute({
        plane: "admin",
        id: "listBackups",
        summary: "List the scheduled backups",
        reply: BackupsReply,
        refusals: COMMON_REFUSALS,
      }),
    )
    .post(
      "/backups",
      ({ request }) =>
        run(request, async (scheduler) => backupReply(unwrap(await scheduler.make()))),
      {
        ...jsonBody(EmptyBody, { emptyAllowed: true }),
        ...describeRoute({
          plane: "admin",
          id: "makeBackup",
          summary: "Make a verified backup in the backup folder",
          description:
            "The server finishes it even if the caller disconnects. If one is being made, that " +
            "one is returned. Backups beyond `backup_keep` are deleted afterwards.",
          reply: BackupReply,
          refusals: [...COMMON_REFUSALS, "storage_full"],
        }),
      },
    )
    .post(
      "/backups/verify",
      ({ body, request }) => {
        const name = readBackupName(body.backup);
        return run(request, async (scheduler) => {
          const verified = await scheduler.verify(name);
          return backupReply(unwrap(verified ?? refuse({ code: "unknown_backup" })));
        });
      },
      {
        ...jsonBody(BackupBody),
        ...describeRoute({
          plane: "admin",
          id: "verifyBackup",
          changesNothing: true,
          summary: "Verify one of the scheduled backups again",
          requiredFields: ["backup"],
          reply: BackupReply,
          refusals: [...COMMON_REFUSALS, ...NAME_REFUSALS],
        }),
      },
    )
    .post(
      "/backups/download",
      ({ body, request }) => {
        const name = readBackupName(body.backup);
        return run(request, async (scheduler) => {
          const path = scheduler.findPath(name) ?? refuse({ code: "unknown_backup" });
          // Another program may have removed or replaced it.
          const content = (await readBackupFile(path)) ?? refuse({ code: "unknown_backup" });
          const disposition = `attachment; filename="${name}"`;
          return new Response(content, {
            headers: { "content-type": TAR, "content-disposition": disposition },
          });
        });
      },
      {
        ...jsonBody(BackupBody),
        ...describeRoute({
          plane: "admin",
          id: "downloadBackup",
          summary: "Download one of the scheduled backups",
          description: "The backup contains the appliance's key: store it safely.",
          requiredFields: ["backup"],
          fileType: TAR,
          refusals: ["server_not_running", "maintenance_failed", ...NAME_REFUSALS],
        }),
      },
    );
};

const TAR = "application/x-tar";

async function readBackupFile(path: string): Promise<ReadableStream | null> {
  try {
    return await readRegularFile(path);
  } catch (error) {
    const code = errorCode(error);
    if (code === null) throw error;
    return refuse({ code: "maintenance_failed", reason: `${path} cannot be read (${code})` });
  }
}

const readBackupName = (text: string | undefined): string =>
  readIdentifier("backup", text) ?? refuse({ code: "missing_parameters", fields: ["backup"] });
