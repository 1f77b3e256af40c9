// The maintenance of a running server: verify, backup and so on in processes of the executable.
import { instant } from "../../src/domain/time.ts";
import { defaultValues } from "../../src/cli/frame/define-command.ts";
import { createRunningServer } from "../../src/cli/maintenance/running-server.ts";
import { LiveSettings } from "../../src/cli/serve/live-settings.ts";
import { settings } from "../../src/cli/serve/settings.ts";
import type { RunningServer } from "../../src/http/running-server.ts";
import type { ChannelTest } from "../../src/operations/notifications/notifier.ts";
import type { ApplianceOperations } from "../../src/operations/wire.ts";
import { startChildrenWithExecutable } from "./binary.ts";

startChildrenWithExecutable();

const EVENT_TEST: ChannelTest = {
  setting: "on_event",
  delivery: {
    exitCode: 3,
    failure: "it exited with code 3",
    output: "no mail server",
    durationMs: 4,
  },
};

export const makeMaintenance = (
  folder: string,
  { settingChanges }: Pick<ApplianceOperations, "settingChanges">,
): RunningServer => ({
  ...createRunningServer({
    settings: { data: folder, identity: null, onEvent: [] },
    live: new LiveSettings({
      settings: { ...defaultValues(settings), data: folder, backupSchedule: null },
      setOptions: [],
      environment: {},
    }),
    settingChanges,
    createdAt: instant(0),
    config: null,
    environment: process.env,
    listeners: [{ address: "127.0.0.1:8080", tls: false }],
    reportAuditFinding: () => {},
  }),
  notifier: { failures: () => [], test: async () => [EVENT_TEST] },
});
