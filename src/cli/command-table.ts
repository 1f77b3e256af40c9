import type { Command, CommandGroup } from "./frame/command.ts";
import { accessCommands } from "./commands/access.ts";
import { airgapCommands } from "./commands/airgap.ts";
import { auditRepairCommands } from "./commands/audit-repair.ts";
import { backupJobCommand } from "./commands/backup-job.ts";
import { backupCommands } from "./commands/backup.ts";
import { checkCommand } from "./commands/check.ts";
import { checkpointCommand } from "./commands/checkpoint.ts";
import { clientCommand } from "./commands/client.ts";
import { clockCommands } from "./commands/clock.ts";
import { configCommands } from "./commands/config.ts";
import { demoCommand } from "./commands/demo.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { eventsTestCommand } from "./commands/events.ts";
import { keysSetCommand } from "./commands/keys.ts";
import { licenseCommands } from "./commands/license.ts";
import { licenseRequestCommands } from "./commands/license-request.ts";
import { metricsCommands } from "./commands/metrics.ts";
import { moveCommands } from "./commands/move.ts";
import { noticesCommand } from "./commands/notices.ts";
import { PAIR_STEPS } from "./commands/pair-steps.ts";
import { pairCommands } from "./commands/pair.ts";
import { qrCommands } from "./commands/qr.ts";
import { auditCommands } from "./commands/audit.ts";
import { queueCommands } from "./commands/queue.ts";
import { reportCommands } from "./commands/report.ts";
import { releaseCommand } from "./commands/release.ts";
import { rulesImportCommand } from "./commands/rules-import.ts";
import { rulesJobCommand } from "./commands/rules-job.ts";
import { runCommand } from "./commands/run.ts";
import { rulesCommands } from "./commands/rules.ts";
import { serveCommand } from "./commands/serve.ts";
import { serviceCommands } from "./commands/service.ts";
import { shellCommands } from "./commands/shell.ts";
import { slotsCommand } from "./commands/slots.ts";
import { storedBackupCommands } from "./commands/stored-backups.ts";
import { statusCommand } from "./commands/status.ts";
import { supportBundleCommand } from "./commands/support-bundle.ts";
import { tlsCommands } from "./commands/tls.ts";
import { trustCommands } from "./commands/trust.ts";
import { usageStatementCommands } from "./commands/usage-statement.ts";
import { usageCommands } from "./commands/usage.ts";
import { vendorCommands } from "./commands/vendor/vendor.ts";
import { versionCommand } from "./commands/version.ts";

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
    ],
  },
];

export const commands: readonly Command[] = commandGroups.flatMap((group) => group.commands);
