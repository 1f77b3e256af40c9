import { X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { isEndingSoon } from "../../domain/end-date.ts";
import { instant } from "../../domain/time.ts";
import { realDisk } from "../../platform/disk.ts";
import { isTaken, listenerOn } from "../../platform/ports.ts";
import { nameOfProcess } from "../../platform/processes.ts";
import { hasSystemd, runTool, systemctl, type Ran } from "../../platform/systemd.ts";
import { permittedBy } from "../../platform/x509.ts";
import { parseListen } from "../listen.ts";
import { places, SERVICE } from "../service/unit.ts";
import { tlsPaths } from "../tls-files.ts";
import { finding, ok, type Finding } from "./finding.ts";

export interface Host {
  readonly folder: string;
  /** Whether it is the folder of the installed service. */
  readonly isService: boolean;
  /** `HOST:PORT` of each listener that is set. */
  readonly listens: readonly string[];
  /** Of the running server; null: none. */
  readonly pid: number | null;
}

/** What surrounds the server: its ports, firewalls before them, its certificate, its unit. */
export const hostFindings = (host: Host): Finding[] => [
  ...host.listens.map((listen) => portFinding(listen, host.pid)),
  ...firewallFindings(host.listens),
  ...certificateFindings(host.folder),
  ...authorityFindings(host.folder),
  ...serviceFindings(host),
];

function portFinding(listen: string, pid: number | null): Finding {
  const port = parseListen(listen)?.port ?? 0;
  const check = `port ${port}`;
  if (!isTaken(port)) {
    return pid === null
      ? ok(check, "free")
      : finding(check, "warning", `the server does not listen on ${listen}`, "restart the server");
  }
  const holder = listenerOn(port);
  // Whose it is can only be told to its owner and to root.
  if (pid !== null && (holder === pid || holder === null)) return ok(check, `served on ${listen}`);
  const advice = "stop that process, or choose another port with --listen HOST:PORT";
  return finding(check, "warning", `in use by ${nameOfProcess(holder)}`, advice);
}

/** A firewall that is stuck has been said nothing about; it must not keep a doctor waiting. */
const PATIENCE = 5_000;

/** Only those that tell without being changed; rules themselves are the operator's business. */
function firewallFindings(listens: readonly string[]): Finding[] {
  const ports = listens.map((listen) => parseListen(listen)?.port ?? 0);
  const found: Finding[] = [];
  if (runTool(["firewall-cmd", "--state"], PATIENCE).ok) {
    const open = runTool(["firewall-cmd", "--list-ports"], PATIENCE).text.split(/\s+/);
    const closed = ports.filter((port) => !open.includes(`${port}/tcp`));
    found.push(
      closed.length === 0
        ? ok("firewall", "firewalld allows the ports")
        : finding(
            "firewall",
            "warning",
            `firewalld is active and does not allow port ${closed.join(", ")}`,
            `firewall-cmd --permanent --add-port=${closed[0]}/tcp, then firewall-cmd --reload`,
          ),
    );
  }
  const ufw = runTool(["ufw", "status"], PATIENCE);
  if (ufw.ok && ufw.text.includes("Status: active")) {
    const named = new Set(ufw.text.split("\n").map((line) => line.split(/[\s/]/)[0]));
    const closed = ports.filter((port) => !named.has(String(port)));
    found.push(
      closed.length === 0
        ? ok("firewall", "ufw allows the ports")
        : finding(
            "firewall",
            "warning",
            `ufw is active and does not allow port ${closed.join(", ")}`,
            `ufw allow ${closed[0]}/tcp`,
          ),
    );
  }
  return found;
}

function certificateFindings(folder: string): Finding[] {
  const bytes = realDisk.read(tlsPaths(folder).certificate);
  if (bytes === null) return [];
  const validTo = endOf(bytes);
  if (validTo === null) {
    const path = tlsPaths(folder).certificate;
    return [
      finding(
        "certificate",
        "error",
        `${path} is not a certificate`,
        "create a new one with berth tls init",
      ),
    ];
  }
  const [end, now] = [instant(Date.parse(validTo)), instant(Date.now())];
  const renew = "renew it with berth tls init, then run systemctl reload berth";
  if (end < now) return [finding("certificate", "error", `expired on ${validTo}`, renew)];
  if (isEndingSoon(end, now))
    return [finding("certificate", "warning", `expires on ${validTo}`, renew)];
  return [ok("certificate", `valid until ${validTo}`)];
}

/** Clients take what the site CA signs for the truth: for which names, and who can sign? */
function authorityFindings(folder: string): Finding[] {
  const { caCertificate, oldCaKey } = tlsPaths(folder);
  const bytes = realDisk.read(caCertificate);
  const root = bytes === null || endOf(bytes) === null ? null : new TextDecoder().decode(bytes);
  const found: Finding[] = [];
  if (realDisk.stat(oldCaKey) !== null) {
    const what = `${oldCaKey} is in a folder that the server can read`;
    found.push(finding("site CA", "warning", what, `berth tls move-ca --data ${folder}`));
  }
  if (root !== null && permittedBy(root) === null) {
    const advice =
      "berth tls init --new-ca creates one for this server only; distribute it to the clients";
    found.push(finding("site CA", "note", "it can sign for any name", advice));
  }
  return found;
}

function endOf(pem: Uint8Array): string | null {
  try {
    return new X509Certificate(pem).validTo;
  } catch {
    return null;
  }
}

/** A service's own sandbox may not let it ask; then nothing is known, and nothing is wrong. */
export function stoppedFinding({ ok: isActive, text }: Ran, result: () => string): Finding | null {
  if (isActive) return null;
  if (!/^[a-z-]+$/.test(text)) {
    const advice = "run berth doctor on the machine itself";
    return finding("service", "note", "cannot query systemd from here", advice);
  }
  return finding("service", "error", `not running (${result()})`, `journalctl -u ${SERVICE}`);
}

function serviceFindings({ folder, isService, pid }: Host): Finding[] {
  if (!hasSystemd() || !existsSync(places.unit)) {
    const found = pid === null ? "not running" : "running, but not as a service";
    return [finding("service", "note", found, "berth service install starts it at boot")];
  }
  if (!isService) {
    return [finding("service", "note", `the service uses ${places.data}, not ${folder}`, "")];
  }
  const stopped = stoppedFinding(
    systemctl("is-active", SERVICE),
    () => systemctl("show", "-P", "Result", SERVICE).text,
  );
  if (stopped !== null) return [stopped];
  const restarts = Number(systemctl("show", "-P", "NRestarts", SERVICE).text);
  const enabled = systemctl("is-enabled", SERVICE).ok;
  return [
    restarts === 0
      ? ok("service", "running")
      : finding("service", "warning", `restarted ${restarts} times`, `journalctl -u ${SERVICE}`),
    ...(enabled
      ? []
      : [
          finding(
            "service",
            "warning",
            "not enabled: it does not start at boot",
            `systemctl enable ${SERVICE}`,
          ),
        ]),
  ];
}
