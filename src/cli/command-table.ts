import type { Command } from "./command.ts";
import { accessCommands } from "./commands/access.ts";
import { airgapCommands } from "./commands/airgap.ts";
import { auditMaintenanceCommands } from "./commands/audit-maintenance.ts";
import { careCommands } from "./commands/care.ts";
import { checkpointCommand } from "./commands/checkpoint.ts";
import { clockCommands } from "./commands/clock.ts";
import { configCommand } from "./commands/config.ts";
import { demo } from "./commands/demo.ts";
import { doctor } from "./commands/doctor.ts";
import { keysSet } from "./commands/keys.ts";
import { licenseCommands } from "./commands/license.ts";
import { moveCommands } from "./commands/move.ts";
import { noticesCommand } from "./commands/notices.ts";
import { qrCommands } from "./commands/qr.ts";
import { recordCommands } from "./commands/record.ts";
import { release } from "./commands/release.ts";
import { serve } from "./commands/serve.ts";
import { serviceCommands } from "./commands/service.ts";
import { shellCommands } from "./commands/shell.ts";
import { slots } from "./commands/slots.ts";
import { status } from "./commands/status.ts";
import { supportBundle } from "./commands/support-bundle.ts";
import { tlsCommands } from "./commands/tls.ts";
import { trustCommands } from "./commands/trust.ts";
import { usageCommand } from "./commands/usage.ts";
import { vendorCommands } from "./commands/vendor.ts";
import { versionCommand } from "./commands/version.ts";

/** Commands by purpose; no group has the name of a command. */
export interface Group {
  readonly name: string;
  readonly about: string;
  readonly commands: readonly Command[];
}

/** Every command there is: dispatch, help, completions and the man page are made of this. */
export const groups: readonly Group[] = [
  { name: "run", about: "run the server", commands: [demo, serve, ...serviceCommands, status] },
  {
    name: "licenses",
    about: "licenses and vendor trust",
    commands: [...trustCommands, ...licenseCommands, ...airgapCommands, keysSet],
  },
  { name: "users", about: "users and slots", commands: [slots, usageCommand, release] },
  {
    name: "maintenance",
    about: "checks, audit log, backups, moves",
    commands: [
      doctor,
      ...recordCommands,
      ...auditMaintenanceCommands,
      ...careCommands,
      ...moveCommands,
      ...clockCommands,
      supportBundle,
    ],
  },
  {
    name: "access",
    about: "access control and TLS",
    commands: [...accessCommands, ...tlsCommands],
  },
  { name: "vendor", about: "the vendor's licensing desk", commands: vendorCommands },
  {
    name: "tools",
    about: "tools",
    commands: [
      configCommand,
      versionCommand,
      noticesCommand,
      ...qrCommands,
      ...shellCommands(() => commands),
      checkpointCommand,
    ],
  },
];

export const commands: readonly Command[] = groups.flatMap((group) => group.commands);
