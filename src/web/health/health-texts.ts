import type { Severity } from "./findings.ts";

const count = (number: number, one: string): string =>
  `${number} ${number === 1 ? one : `${one}s`}`;

export const health = {
  title: "Health",
  groups: { error: "Errors", warning: "Warnings", note: "Notes" } satisfies Readonly<
    Record<Severity, string>
  >,
  severities: { error: "Error", warning: "Warning", note: "Note" } satisfies Readonly<
    Record<Severity, string>
  >,
  about: {
    error: "Something does not work now.",
    warning: "Something will stop working or is unsafe.",
    note: "Worth knowing; no action is needed.",
  } satisfies Readonly<Record<Severity, string>>,
  healthy: "Nothing needs attention.",
  passed: (number: number) => `${count(number, "check")} passed`,
  lastCheck: "Last full check:",
  neverChecked:
    "No full check since the server started. It runs by itself five minutes after the start and once a day.",
  runAgain: "Run all checks now",
  running: "Checking; this reads all data and may take a minute.",
  actions: {
    renew: "Request a renewal",
    request: "Request a license",
    viewUsers: "View users",
    access: "Open Access",
    backups: "Open Backups",
    clock: "Open Clock",
    network: "Open Network",
    integrity: "Open Maintenance",
  },
  figures: {
    title: "Figures",
    free: "Free disk space",
    sync: "Slowest sync of the last minutes",
    changes: "Changes written",
    auditLines: "Lines of the audit log",
    certificate: "Certificate",
    noCertificate: "plain HTTP only",
    hardware: "Hardware",
    nothing: "nothing",
    version: "Version",
  },
  checks: {
    storage: "Storage",
    clock: "Clock",
    licenses: "Licenses",
    hardware: "Hardware",
    certificate: "Certificate",
    tokens: "Tokens",
    exposures: "Access",
    backups: "Backups",
    settings: "Settings",
    permissions: "Permissions",
    file_system: "File system",
    disk_speed: "Disk speed",
    data: "Data",
    port: "Port",
    firewall: "Firewall",
    service: "Service",
    pair: "Pair",
    pair_database: "Database of the pair",
  } as Readonly<Record<string, string>>,
} as const;
