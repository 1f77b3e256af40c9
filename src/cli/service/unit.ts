import { SERVICE_DATA, SERVICE_SETTINGS } from "../../platform/options.ts";

export const SERVICE = "berth.service";

/** Where an installed appliance has its things. */
export const places = {
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
  data: SERVICE_DATA,
  backups: "/var/backups/berth",
} as const;

/**
 * Files only root may read, handed to the service by systemd. A file that is not there would keep
 * the unit from starting, so only those that are there when it is written are named in it.
 */
const offeredCredentials: readonly { readonly name: string; readonly path: string }[] = [
  { name: "berth-sealing-key", path: places.sealingKey },
  { name: "berth-api-key", path: places.apiKey },
  { name: "berth-shared-key", path: places.sharedKey },
  { name: "berth-product-uuid", path: "/sys/class/dmi/id/product_uuid" },
  { name: "berth-board-serial", path: "/sys/class/dmi/id/board_serial" },
];

/** The executable that a unit starts. */
export const binaryIn = (unit: string): string =>
  /^ExecStart=(\S+)/m.exec(unit)?.[1] ?? "/usr/local/bin/berth";

export const sysusers = `# Made by berth service install.
u berth - "Berth license server" ${places.data} -
`;

/** The unit of an appliance. Every line that is not as strict as it could be says why. */
export function unitText(binary: string, isThere: (path: string) => boolean): string {
  const credentials = offeredCredentials
    .filter(({ path }) => isThere(path))
    .map(({ name, path }) => `LoadCredential=${name}:${path}\n`)
    .join("");
  return `# Made by berth service install; berth service print shows what it would write now.
# To change it, use systemctl edit berth: an upgrade writes this file anew and leaves yours alone.

[Unit]
Description=Berth, a floating license server
Documentation=man:berth(1)
After=network.target
# Five failed starts within a minute: then it waits for an operator.
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=notify
NotifyAccess=main
ExecStart=${binary} serve --config ${places.settings}
# Reads the certificate again, without dropping a request.
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
# A start reads all of the journal; a watchdog's end and a crash are followed by a new start, which
# loses nothing. 78: the data folder needs an operator. 2: the settings do.
Restart=on-failure
RestartSec=1
RestartPreventExitStatus=2 78
TimeoutStartSec=10min
TimeoutStopSec=1min
WatchdogSec=30
# The checkpoint's own process, too, ends with the service; what it left is taken up at the start.
KillMode=mixed

# What would change how the executable itself runs.
UnsetEnvironment=BUN_OPTIONS BUN_BE_BUN BUN_CONFIG_FILE BUN_INSPECT BUN_INSPECT_CONNECT_TO
UnsetEnvironment=NODE_OPTIONS NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED LD_PRELOAD

LimitNOFILE=65536
LimitCORE=0
TasksMax=128
# With a million registrations a checkpoint takes 2.3 GB beside the server's 1.2.
MemoryHigh=4G
OOMScoreAdjust=-500

NoNewPrivileges=yes
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

# Less strict than it could be, and why:
#   PrivateNetwork, AF_INET(6), IPAddressDeny   it is a server; its settings say who may call
#   MemoryDenyWriteExecute   the runtime compiles while it runs; with it, it is half as fast
#   AF_UNIX                  the command line talks to it through a socket, and it to systemd
#   AF_NETLINK               the machine's own addresses are asked for there
#   ProcSubset=all           the disk of the root file system is found in /proc: hardware binding
#   @resources               a checkpoint's process gives way to answers (setpriority)
#   DeviceAllow              ProtectClock itself still lets the hardware clock be read
#   RootDirectory, RootImage   one file needs none; ProtectSystem=strict leaves nothing to write

[Install]
WantedBy=multi-user.target
`;
}
