import type { Instant } from "../../domain/time.ts";
import type { RunningServer, SettingsReply } from "../../http/running-server.ts";
import { defaultBackupDirectory } from "../../operations/backups/backup-folder.ts";
import { BackupScheduler } from "../../operations/backups/backup-scheduler.ts";
import { wallClock } from "../../platform/clock.ts";
import { settingsKey } from "../frame/options.ts";
import { getAllowedNetworks } from "../serve/access-policy.ts";
import { explainFixedSetting } from "../serve/fixed-settings.ts";
import type { LiveSetting } from "../serve/live-settings.ts";
import { SettingsEditor, type SettingsEditorOptions } from "../serve/settings-editor.ts";
import { createBackupJobs } from "./backup-jobs.ts";
import { JobQueue } from "../../operations/job-queue.ts";
import {
  createMaintenanceJobs,
  withoutBerthVariables,
  type MaintenanceContext,
  type MaintenanceJobs,
} from "./maintenance.ts";

/** A listener as it is bound: HOST:PORT. */
export type BoundListener = SettingsReply["listeners"][number];

interface RunningServerOptions
  extends Omit<MaintenanceContext, "queue" | "siteName">, SettingsEditorOptions {
  /** When the data folder was created. */
  readonly createdAt: Instant;
}

/** What only a running server can do. */
export function createRunningServer(
  options: RunningServerOptions,
): Omit<RunningServer, "notifier"> & MaintenanceJobs {
  const { live, config, listeners, environment, createdAt } = options;
  const { data } = live.current;
  const editor = new SettingsEditor(options);
  const queue = new JobQueue();
  const maintenance = createMaintenanceJobs({
    ...options,
    queue,
    siteName: () => live.current.siteName,
  });
  const backups = new BackupScheduler({
    settings: () => ({
      schedule: live.current.backupSchedule,
      keep: live.current.backupKeep,
      directory: live.current.backupDir ?? defaultBackupDirectory(data),
    }),
    jobs: createBackupJobs(
      data,
      withoutBerthVariables(environment),
      queue,
      options.reportAuditFinding,
    ),
    since: createdAt,
    timeZone: () => Temporal.Now.timeZoneId(),
    wallClock,
    monotonicMs: () => performance.now(),
  });
  return {
    settings: () => ({
      settings: live.list().map((setting) => settingReply(setting, config)),
      config_file: config,
      networks: getAllowedNetworks(live.current),
      listeners: [...listeners],
    }),
    changeSettings: (edits, caller) => editor.change(edits, caller),
    ...maintenance,
    backups,
    stop() {
      backups.stop();
      maintenance.stop();
    },
  };
}

type SettingReply = SettingsReply["settings"][number];

function settingReply(setting: LiveSetting, config: string | null): SettingReply {
  const { option, value, source, defaultValue } = setting;
  const reason = explainFixedSetting(setting, config);
  return {
    name: settingsKey(option),
    type: option.type,
    value: copyValue(value),
    source,
    default: copyValue(defaultValue),
    help: option.help,
    editable: reason === null,
    why_not: reason,
  };
}

const copyValue = (value: LiveSetting["value"]): SettingReply["value"] =>
  typeof value === "object" && value !== null ? [...value] : value;
