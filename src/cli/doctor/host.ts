import { X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { instant, type Instant } from "../../domain/time.ts";
import { checkCertificate } from "../../operations/health/certificate.ts";
import { findingReport, passedReport, type HealthReport } from "../../operations/health/finding.ts";
import { realDisk } from "../../platform/files/disk.ts";
import { isPortInUse, findListeningProcess } from "../../platform/network/ports.ts";
import { describeProcess } from "../../platform/system/processes.ts";
import { hasSystemd, systemctl, type ToolResult } from "../../platform/system/systemd.ts";
import { formatListenAddress, type ListenAddress } from "../serve/listen-address.ts";
import { servicePaths, SERVICE_UNIT } from "../service/unit.ts";
import { tlsPaths } from "../tls/tls-files.ts";
import { checkFirewalls } from "./firewall.ts";

export interface HostToCheck {
  readonly folder: string;
  /** Whether it is the folder of the installed service. */
  readonly isService: boolean;
  /** Of each listener that is set. */
  readonly listenAddresses: readonly ListenAddress[];
  /** Of the running server; null: no server is running. */
  readonly pid: number | null;
  readonly now: Instant;
  /** So many days before its end, a certificate is reported. */
  readonly warningDays: number;
}

/** Checks the host of the server: ports, firewalls, certificates and the systemd unit. */
export const checkHost = (host: HostToCheck): HealthReport[] => [
  ...host.listenAddresses.map((listen) => checkPort(listen, host.pid)),
  ...checkFirewalls(host.listenAddresses.map(({ port }) => port)),
  ...checkCertificateFile(host),
  ...checkService(host),
];

function checkPort(address: ListenAddress, pid: number | null): HealthReport {
  const { port } = address;
  const subject = String(port);
  const listen = formatListenAddress(address);
  if (!isPortInUse(port)) {
    if (pid === null) return passedReport("port", `Port ${port} is free`);
    return findingReport("port_closed", "warning", {
      summary: `The server does not listen on ${listen}`,
      remedy: "Restart the server",
      subject,
    });
  }
  const holder = findListeningProcess(port);
  // Null: only the owner of the process and root can see which process it is.
  if (pid !== null && (holder === pid || holder === null))
    return passedReport("port", `The server listens on ${listen}`);
  return findingReport("port_taken", "warning", {
    summary: `Port ${port} is in use by ${describeProcess(holder)}`,
    remedy: "Stop that process, or choose another port with --listen HOST:PORT",
    subject,
  });
}

/** A running server reports the certificate that it uses; the file may be another one by now. */
function checkCertificateFile({ folder, pid, ...time }: HostToCheck): HealthReport[] {
  const path = tlsPaths(folder).certificate;
  const bytes = realDisk.read(path);
  if (bytes === null) return [];
  const validTo = readValidTo(bytes);
  if (validTo === null) {
    return [
      findingReport("certificate_invalid", "error", {
        summary: `${path} is not a certificate`,
        remedy: "Create a new certificate",
        command: "berth tls init",
      }),
    ];
  }
  return pid === null ? [checkCertificate(instant(Date.parse(validTo)), time)] : [];
}

function readValidTo(pem: Uint8Array): string | null {
  try {
    return new X509Certificate(pem).validTo;
  } catch {
    return null;
  }
}

const READ_LOG = `journalctl -u ${SERVICE_UNIT}`;

/** The service's sandbox may forbid the query; then the state is unknown, which is no error. */
export function checkServiceState(
  { ok: isActive, output }: ToolResult,
  result: () => string,
): HealthReport | null {
  if (isActive) return null;
  if (!/^[a-z-]+$/.test(output)) {
    return findingReport("service_unknown", "note", {
      summary: "The state of the service is unknown: systemd cannot be queried from here",
      remedy: "Run the check on the machine itself",
      command: "berth doctor",
    });
  }
  return findingReport("service_stopped", "error", {
    summary: `The service is not running (${result()})`,
    remedy: "Look for the cause in its log",
    command: READ_LOG,
  });
}

function checkService({ folder, isService, pid }: HostToCheck): HealthReport[] {
  if (!hasSystemd() || !existsSync(servicePaths.unit)) {
    return [
      findingReport("service_missing", "note", {
        summary: pid === null ? "No server is running" : "The server does not run as a service",
        remedy: "Install the service, so that it starts at boot",
        command: "berth service install",
      }),
    ];
  }
  if (!isService) {
    const summary = `The service uses ${servicePaths.data}, not ${folder}`;
    return [findingReport("service_other_folder", "note", { summary, remedy: "" })];
  }
  const stopped = checkServiceState(
    systemctl("is-active", SERVICE_UNIT),
    () => systemctl("show", "-P", "Result", SERVICE_UNIT).output,
  );
  if (stopped !== null) return [stopped];
  const restarts = Number(systemctl("show", "-P", "NRestarts", SERVICE_UNIT).output);
  return [
    restarts === 0
      ? passedReport("service", "The service is running")
      : findingReport("service_restarted", "warning", {
          summary: `The service was restarted ${restarts} times`,
          remedy: "Look for the cause in its log",
          command: READ_LOG,
        }),
    ...(systemctl("is-enabled", SERVICE_UNIT).ok
      ? []
      : [
          findingReport("service_disabled", "warning", {
            summary: "The service is not enabled: it does not start at boot",
            remedy: "Enable it",
            command: `systemctl enable ${SERVICE_UNIT}`,
          }),
        ]),
  ];
}
