import { X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { isEndingSoon } from "../../domain/licenses/end-date.ts";
import { instant } from "../../domain/time.ts";
import { realDisk } from "../../platform/files/disk.ts";
import { isPortInUse, findListeningProcess } from "../../platform/network/ports.ts";
import { describeProcess } from "../../platform/system/processes.ts";
import { hasSystemd, runTool, systemctl, type ToolResult } from "../../platform/system/systemd.ts";
import { readNameConstraints } from "../../platform/crypto/name-constraints.ts";
import { formatListenAddress, type ListenAddress } from "../serve/listen-address.ts";
import { servicePaths, SERVICE_UNIT } from "../service/unit.ts";
import { tlsPaths } from "../tls/tls-files.ts";
import { createFinding, okFinding, type Finding } from "./finding.ts";

export interface HostToCheck {
  readonly folder: string;
  /** Whether it is the folder of the installed service. */
  readonly isService: boolean;
  /** Of each listener that is set. */
  readonly listenAddresses: readonly ListenAddress[];
  /** Of the running server; null: no server is running. */
  readonly pid: number | null;
}

/** Checks the host of the server: ports, firewalls, certificates and the systemd unit. */
export const checkHost = (host: HostToCheck): Finding[] => [
  ...host.listenAddresses.map((listen) => portFinding(listen, host.pid)),
  ...firewallFindings(host.listenAddresses),
  ...certificateFindings(host.folder),
  ...authorityFindings(host.folder),
  ...serviceFindings(host),
];

function portFinding(address: ListenAddress, pid: number | null): Finding {
  const { port } = address;
  const listen = formatListenAddress(address);
  const check = `port ${port}`;
  if (!isPortInUse(port)) {
    return pid === null
      ? okFinding(check, "free")
      : createFinding(
          check,
          "warning",
          `the server does not listen on ${listen}`,
          "restart the server",
        );
  }
  const holder = findListeningProcess(port);
  // Null: only the owner of the process and root can see which process it is.
  if (pid !== null && (holder === pid || holder === null))
    return okFinding(check, `served on ${listen}`);
  const advice = "stop that process, or choose another port with --listen HOST:PORT";
  return createFinding(check, "warning", `in use by ${describeProcess(holder)}`, advice);
}

/** Milliseconds; a firewall tool that hangs is skipped and must not block the other checks. */
const TOOL_TIMEOUT = 5_000;

/** Only firewalls that can be queried without a change; the operator decides on the rules. */
function firewallFindings(listenAddresses: readonly ListenAddress[]): Finding[] {
  const ports = listenAddresses.map(({ port }) => port);
  const findings: Finding[] = [];
  if (runTool(["firewall-cmd", "--state"], TOOL_TIMEOUT).ok) {
    const open = runTool(["firewall-cmd", "--list-ports"], TOOL_TIMEOUT).output.split(/\s+/);
    const closed = ports.filter((port) => !open.includes(`${port}/tcp`));
    findings.push(
      closed.length === 0
        ? okFinding("firewall", "firewalld allows the ports")
        : createFinding(
            "firewall",
            "warning",
            `firewalld is active and does not allow port ${closed.join(", ")}`,
            `firewall-cmd --permanent --add-port=${closed[0]}/tcp, then firewall-cmd --reload`,
          ),
    );
  }
  const ufw = runTool(["ufw", "status"], TOOL_TIMEOUT);
  if (ufw.ok && ufw.output.includes("Status: active")) {
    const listedPorts = new Set(ufw.output.split("\n").map((line) => line.split(/[\s/]/)[0]));
    const closed = ports.filter((port) => !listedPorts.has(String(port)));
    findings.push(
      closed.length === 0
        ? okFinding("firewall", "ufw allows the ports")
        : createFinding(
            "firewall",
            "warning",
            `ufw is active and does not allow port ${closed.join(", ")}`,
            `ufw allow ${closed[0]}/tcp`,
          ),
    );
  }
  return findings;
}

function certificateFindings(folder: string): Finding[] {
  const bytes = realDisk.read(tlsPaths(folder).certificate);
  if (bytes === null) return [];
  const validTo = readValidTo(bytes);
  if (validTo === null) {
    const path = tlsPaths(folder).certificate;
    return [
      createFinding(
        "certificate",
        "error",
        `${path} is not a certificate`,
        "create a new one with berth tls init",
      ),
    ];
  }
  const [end, now] = [instant(Date.parse(validTo)), instant(Date.now())];
  const renew = "renew it with berth tls init, then run systemctl reload berth";
  if (end < now) return [createFinding("certificate", "error", `expired on ${validTo}`, renew)];
  if (isEndingSoon(end, now))
    return [createFinding("certificate", "warning", `expires on ${validTo}`, renew)];
  return [okFinding("certificate", `valid until ${validTo}`)];
}

/** Clients trust all that the site CA signs: for which names can it sign, and who has its key? */
function authorityFindings(folder: string): Finding[] {
  const { caCertificate, oldCaKey } = tlsPaths(folder);
  const bytes = realDisk.read(caCertificate);
  const root =
    bytes === null || readValidTo(bytes) === null ? null : new TextDecoder().decode(bytes);
  const findings: Finding[] = [];
  if (realDisk.stat(oldCaKey) !== null) {
    const text = `${oldCaKey} is in a folder that the server can read`;
    findings.push(createFinding("site CA", "warning", text, `berth tls move-ca --data ${folder}`));
  }
  if (root !== null && readNameConstraints(root) === null) {
    const advice =
      "berth tls init --new-ca creates one for this server only; distribute it to the clients";
    findings.push(createFinding("site CA", "note", "it can sign for any name", advice));
  }
  return findings;
}

function readValidTo(pem: Uint8Array): string | null {
  try {
    return new X509Certificate(pem).validTo;
  } catch {
    return null;
  }
}

/** The service's sandbox may forbid the query; then the state is unknown, which is no error. */
export function serviceStateFinding(
  { ok: isActive, output }: ToolResult,
  result: () => string,
): Finding | null {
  if (isActive) return null;
  if (!/^[a-z-]+$/.test(output)) {
    const advice = "run berth doctor on the machine itself";
    return createFinding("service", "note", "cannot query systemd from here", advice);
  }
  return createFinding(
    "service",
    "error",
    `not running (${result()})`,
    `journalctl -u ${SERVICE_UNIT}`,
  );
}

function serviceFindings({ folder, isService, pid }: HostToCheck): Finding[] {
  if (!hasSystemd() || !existsSync(servicePaths.unit)) {
    const text = pid === null ? "not running" : "running, but not as a service";
    return [createFinding("service", "note", text, "berth service install starts it at boot")];
  }
  if (!isService) {
    return [
      createFinding("service", "note", `the service uses ${servicePaths.data}, not ${folder}`, ""),
    ];
  }
  const stopped = serviceStateFinding(
    systemctl("is-active", SERVICE_UNIT),
    () => systemctl("show", "-P", "Result", SERVICE_UNIT).output,
  );
  if (stopped !== null) return [stopped];
  const restarts = Number(systemctl("show", "-P", "NRestarts", SERVICE_UNIT).output);
  const isEnabled = systemctl("is-enabled", SERVICE_UNIT).ok;
  return [
    restarts === 0
      ? okFinding("service", "running")
      : createFinding(
          "service",
          "warning",
          `restarted ${restarts} times`,
          `journalctl -u ${SERVICE_UNIT}`,
        ),
    ...(isEnabled
      ? []
      : [
          createFinding(
            "service",
            "warning",
            "not enabled: it does not start at boot",
            `systemctl enable ${SERVICE_UNIT}`,
          ),
        ]),
  ];
}
