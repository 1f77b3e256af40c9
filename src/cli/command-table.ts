import type { Command, CommandGroup } from "./frame/command.ts";
import { accessCommands } from "./commands/access/access.ts";
import { airgapCommands } from "./commands/requests/airgap.ts";
import { auditRepairCommands } from "./commands/audit/audit-repair.ts";
import { historyJobCommand } from "./commands/usage/history-job.ts";
import { backupJobCommand } from "./commands/backups/backup-job.ts";
import { backupCommands } from "./commands/backups/backup.ts";
import { checkCommand } from "./commands/health/check.ts";
import { checkpointCommand } from "./commands/server/checkpoint.ts";
import { clientCommand } from "./commands/program/client.ts";
import { clockCommands } from "./commands/clock/clock.ts";
import { configCommands } from "./commands/settings/config.ts";
import { demoCommand } from "./commands/server/demo.ts";
import { doctorCommand } from "./commands/health/doctor.ts";
import { eventsTestCommand } from "./commands/health/events.ts";
import { keysSetCommand } from "./commands/appliance/keys.ts";
import { licenseCommands } from "./commands/licenses/license.ts";
import { licenseRequestCommands } from "./commands/requests/license-request.ts";
import { metricsCommands } from "./commands/health/metrics.ts";
import { moveCommands } from "./commands/appliance/move.ts";
import { noticesCommand } from "./commands/program/notices.ts";
import { PAIR_STEPS } from "./commands/pair/pair-steps.ts";
import { pairCommands } from "./commands/pair/pair.ts";
import { qrCommands } from "./commands/requests/qr.ts";
import { auditCommands } from "./commands/audit/audit.ts";
import { queueCommands } from "./commands/queue/queue.ts";
import { reportCommands } from "./commands/usage/report.ts";
import { releaseCommand } from "./commands/slots/release.ts";
import { rulesImportCommand } from "./commands/rules/rules-import.ts";
import { rulesJobCommand } from "./commands/rules/rules-job.ts";
import { runCommand } from "./commands/slots/run.ts";
import { rulesCommands } from "./commands/rules/rules.ts";
import { serveCommand } from "./commands/server/serve.ts";
import { serviceCommands } from "./commands/server/service.ts";
import { shellCommands } from "./commands/program/shell.ts";
import { slotsCommand } from "./commands/slots/slots.ts";
import { storedBackupCommands } from "./commands/backups/stored-backups.ts";
import { statusCommand } from "./commands/health/status.ts";
import { supportBundleCommand } from "./commands/health/support-bundle.ts";
import { tlsCommands } from "./commands/access/tls.ts";
import { trustCommands } from "./commands/trust/trust.ts";
import { usageStatementCommands } from "./commands/statements/usage-statement.ts";
import { usageCommands } from "./commands/usage/usage.ts";
import { vendorCommands } from "./commands/vendor/vendor.ts";
import { versionCommand } from "./commands/program/version.ts";

/** All commands. Dispatch, help, completions and the man page are derived from this table. */
export const commandGroups: readonly CommandGroup[] = [
  {
    name: "server",
    title: "run the server",
    commands: [demoCommand, serveCommand, ...serviceCommands, statusCommand],
  },
  {
    name: "licenses",
    title: "licenses and vendor trust",
    commands: [
      ...trustCommands,
      ...licenseRequestCommands,
      ...licenseCommands,
      ...airgapCommands,
      keysSetCommand,
    ],
  },
  {
    name: "users",
    title: "users and slots",
    commands: [
      slotsCommand,
      ...queueCommands,
      runCommand,
      ...usageCommands,
      ...usageStatementCommands,
      ...reportCommands,
      releaseCommand,
      ...rulesCommands,
      rulesImportCommand,
    ],
  },
  {
    name: "maintenance",
    title: "checks, audit log, backups, moves",
    commands: [
      doctorCommand,
      checkCommand,
      ...metricsCommands,
      eventsTestCommand,
      ...auditCommands,
      ...auditRepairCommands,
      ...backupCommands,
      ...storedBackupCommands,
      ...moveCommands,
      ...clockCommands,
      supportBundleCommand,
    ],
  },
  {
    name: "pair",
    title: "two hosts that serve one appliance",
    commands: pairCommands,
    about: PAIR_STEPS,
  },
  {
    name: "access",
    title: "access control and TLS",
    commands: [...accessCommands, ...tlsCommands],
  },
  { name: "vendor", title: "the vendor's licensing desk", commands: vendorCommands },
  {
    name: "tools",
    title: "tools",
    commands: [
      ...configCommands,
      versionCommand,
      noticesCommand,
      clientCommand,
      ...qrCommands,
      ...shellCommands(() => commands),
      checkpointCommand,
      backupJobCommand,
      rulesJobCommand,
      historyJobCommand,
    ],
  },
];

export const commands: readonly Command[] = commandGroups.flatMap((group) => group.commands);
