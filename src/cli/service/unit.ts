import {
  SERVICE_DATA,
  SERVICE_PAIR_LOG_PASSWORD,
  SERVICE_SETTINGS,
} from "../../platform/environment.ts";

export const SERVICE_UNIT = "berth.service";

/** The paths of an installed service. */
export const servicePaths = {
  unit: "/etc/systemd/system/berth.service",
  users: "/etc/sysusers.d/berth.conf",
  man: "/usr/local/share/man/man1/berth.1",
  completion: "/usr/local/share/bash-completion/completions/berth",
  settings: SERVICE_SETTINGS,
  sealingKey: "/etc/berth/sealing-key",
  adminToken: "/etc/berth/admin-token",
  ca: "/etc/berth/ca",
  apiKey: "/etc/berth/api-key",
  sharedKey: "/etc/berth/shared-key",
  pairLogPassword: SERVICE_PAIR_LOG_PASSWORD,
  data: SERVICE_DATA,
  backups: "/var/backups/berth",
} as const;

/**
 * Files that only root may read, passed to the service by systemd. A missing file would keep the
 * unit from starting, so the unit names only those that exist when it is written.
 */
const offeredCredentials: readonly { readonly name: string; readonly path: string }[] = [
  { name: "berth-sealing-key", path: servicePaths.sealingKey },
  { name: "berth-api-key", path: servicePaths.apiKey },
  { name: "berth-shared-key", path: servicePaths.sharedKey },
  { name: "berth-pair-log-password", path: servicePaths.pairLogPassword },
  { name: "berth-product-uuid", path: "/sys/class/dmi/id/product_uuid" },
  { name: "berth-board-serial", path: "/sys/class/dmi/id/board_serial" },
];

/** The executable that a unit starts. */
export const parseBinaryPath = (unit: string): string =>
  /^ExecStart=(\S+)/m.exec(unit)?.[1] ?? "/usr/local/bin/berth";

export const sysusersText = `# Created by berth service install.
u berth - "Berth license server" ${servicePaths.data} -
`;

/** With `-`, the server starts even if the disk of the folder is missing. */
const formatWritablePath = (path: string): string => `# The folder of backup_dir.
ReadWritePaths="-${path.replaceAll(/["\\]/g, "\\$&").replaceAll("%", "%%")}"

`;

/** Whether the unit hides a path from the service: with ProtectHome and PrivateTmp. */
export const isHiddenByUnit = (path: string): boolean =>
  /^\/(?:home|root|run\/user|tmp|var\/tmp)(?:\/|$)/.test(path);

/** Whether a unit lets the service write to a folder outside of the data folder. */
export const allowsWritingTo = (unit: string, path: string): boolean =>
  unit.includes(formatWritablePath(path));

/** The systemd unit. Its comments explain every option that is less strict than possible. */
export function unitText(
  binary: string,
  exists: (path: string) => boolean,
  backupDir: string | null = null,
): string {
  const credentials = offeredCredentials
    .filter(({ path }) => exists(path))
    .map(({ name, path }) => `LoadCredential=${name}:${path}\n`)
    .join("");
  return `# Created by berth service install; berth service print shows what it would write now.
# To change it, use systemctl edit berth: an upgrade rewrites this file, but not your override.

[Unit]
Description=Berth, a floating license server
Documentation=man:berth(1)
After=network.target
# After five failed starts within a minute, systemd stops trying.
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=notify
NotifyAccess=main
ExecStart=${binary} serve --config ${servicePaths.settings}
# Reloads the certificate without a restart.
ExecReload=/bin/sh -c 'kill -HUP $MAINPID'
User=berth
Group=berth
StateDirectory=berth
StateDirectoryMode=0700
RuntimeDirectory=berth
RuntimeDirectoryMode=0700
UMask=0077
WorkingDirectory=/
${credentials}
# A start reads the whole journal. After a crash or a watchdog timeout systemd restarts the service;
# no data is lost. Exit codes: 78 the data folder needs an operator, 2 the settings are wrong.
Restart=on-failure
RestartSec=1
RestartPreventExitStatus=2 78
TimeoutStartSec=10min
TimeoutStopSec=1min
WatchdogSec=30
# The checkpoint process is killed with the service; the next start cleans up what it left.
KillMode=mixed

# Variables that would change how the executable runs.
UnsetEnvironment=BUN_OPTIONS BUN_BE_BUN BUN_CONFIG_FILE BUN_INSPECT BUN_INSPECT_CONNECT_TO
UnsetEnvironment=NODE_OPTIONS NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED LD_PRELOAD

LimitNOFILE=65536
LimitCORE=0
TasksMax=128
# With a million registrations a checkpoint takes 2.3 GB in addition to the server's 1.2 GB.
MemoryHigh=4G
OOMScoreAdjust=-500

${backupDir === null ? "" : formatWritablePath(backupDir)}NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
DevicePolicy=closed
PrivateUsers=yes
PrivateMounts=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
ProtectProc=invisible
ProcSubset=all
RestrictNamespaces=yes
RestrictSUIDSGID=yes
RestrictRealtime=yes
LockPersonality=yes
RemoveIPC=yes
KeyringMode=private
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @obsolete
SystemCallErrorNumber=EPERM
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK

# Options that are less strict than possible, and why:
#   PrivateNetwork, AF_INET(6), IPAddressDeny   it is a server; its settings restrict the clients
#   MemoryDenyWriteExecute   the runtime compiles at run time; with it, the server is half as fast
#   AF_UNIX                  sockets of the command line and of systemd
#   AF_NETLINK               to list the machine's own addresses
#   ProcSubset=all           hardware binding finds the disk of the root file system in /proc
#   @resources               the checkpoint process lowers its own priority (setpriority)
#   DeviceAllow              ProtectClock itself still allows reading the hardware clock
#   RootDirectory, RootImage   not needed for one file; ProtectSystem=strict is read-only already

[Install]
WantedBy=multi-user.target
`;
}
