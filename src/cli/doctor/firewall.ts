import { findingReport, passedReport, type HealthReport } from "../../operations/health/finding.ts";
import { runTool } from "../../platform/system/systemd.ts";

/** Milliseconds; a firewall tool that hangs is skipped and must not block the other checks. */
const TOOL_TIMEOUT = 5_000;

/** A firewall that can be queried without a change; the operator decides on the rules. */
interface Firewall {
  readonly name: string;
  readonly openPorts: readonly string[];
  /** The commands that allow these ports. */
  readonly allow: (ports: readonly number[]) => string;
}

export const checkFirewalls = (ports: readonly number[]): HealthReport[] =>
  ports.length === 0
    ? []
    : [readFirewalld(), readUfw()]
        .filter((firewall) => firewall !== null)
        .map((firewall) => rateFirewall(firewall, ports));

function readFirewalld(): Firewall | null {
  if (!runTool(["firewall-cmd", "--state"], TOOL_TIMEOUT).ok) return null;
  return parseFirewalld(runTool(["firewall-cmd", "--list-ports"], TOOL_TIMEOUT).output);
}

export const parseFirewalld = (portList: string): Firewall => ({
  name: "firewalld",
  openPorts: portList.split(/\s+/).flatMap((entry) => (/^(\d+)\/tcp$/.exec(entry) ?? []).slice(1)),
  allow: (ports) =>
    [
      ["firewall-cmd --permanent", ...ports.map((port) => `--add-port=${port}/tcp`)].join(" "),
      "firewall-cmd --reload",
    ].join(" && "),
});

function readUfw(): Firewall | null {
  const { ok, output } = runTool(["ufw", "status"], TOOL_TIMEOUT);
  return ok && output.includes("Status: active") ? parseUfw(output) : null;
}

export const parseUfw = (status: string): Firewall => ({
  name: "ufw",
  openPorts: status.split("\n").map((line) => line.split(/[\s/]/)[0] ?? ""),
  allow: (ports) => ports.map((port) => `ufw allow ${port}/tcp`).join(" && "),
});

export function rateFirewall(
  { name, openPorts, allow }: Firewall,
  ports: readonly number[],
): HealthReport {
  const closed = ports.filter((port) => !openPorts.includes(String(port)));
  if (closed.length === 0)
    return passedReport("firewall", `${name} allows port ${ports.join(", ")}`);
  return findingReport("firewall_closed", "warning", {
    summary: `${name} is active and does not allow port ${closed.join(", ")}`,
    remedy: "Allow the ports in the firewall",
    command: allow(closed),
    subject: name,
  });
}
