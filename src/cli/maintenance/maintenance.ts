import { err, ok, type Result } from "../../domain/result.ts";
import type { MaintenanceFault } from "../../faults/fault-types.ts";
import type {
  DoctorReply,
  Download,
  RunningServer,
  SettingsReply,
  VerifyReply,
} from "../../http/running-server.ts";
import { siteSlug } from "../../domain/text/site-slug.ts";
import type { Environment } from "../../platform/environment.ts";
import type { AuditFinding } from "../../operations/audit/audit-maintenance.ts";
import { Downloads } from "../../operations/backups/downloads.ts";
import { EXIT_OK, EXIT_NEEDS_OPERATOR } from "../frame/command.ts";
import type { ServeSettings } from "../serve/settings.ts";
import { runChildCommand } from "./child-command.ts";
import type { JobOutcome, JobQueue } from "../../operations/job-queue.ts";
import { toMaintenanceFault, catchSystemError } from "./maintenance-fault.ts";

export interface MaintenanceContext {
  /** Shared with the scheduled backups. */
  readonly queue: JobQueue;
  readonly settings: Pick<ServeSettings, "data" | "identity" | "onEvent">;
  /** The name of the site; it is in the file names of backups, not of support bundles. */
  readonly siteName: () => string;
  /** The settings file; null: there is none. */
  readonly config: string | null;
  readonly environment: Environment;
  /** The bound addresses; filled when the server listens. */
  readonly listeners: SettingsReply["listeners"];
  /** Receives the result of each check of the audit log; null: it is intact. */
  readonly reportAuditFinding: (finding: AuditFinding | null) => void;
}

export interface MaintenanceJobs extends Omit<
  RunningServer,
  "settings" | "changeSettings" | "backups" | "notifier"
> {
  /** Removes what a server that was killed left behind. */
  readonly removeLeftovers: () => void;
  readonly stop: () => void;
}

/** What `verify` and `backup` print. */
interface VerifyOutput {
  readonly ok: true;
  readonly audit_damage?: { readonly finding: string; readonly remedy: string };
}

/** Runs the commands of an operator at the machine, for an operator who uses the admin API. */
export function createMaintenanceJobs({
  queue,
  settings: { data: folder, identity, onEvent },
  siteName,
  config,
  environment,
  listeners,
  reportAuditFinding,
}: MaintenanceContext): MaintenanceJobs {
  const downloads = new Downloads(folder);
  const dataFlag = [`--data=${folder}`];
  const siteFlags = (): string[] => [
    ...dataFlag,
    ...formatFlag("identity", identity),
    ...listeners.map(({ address, tls }) => `--listen${tls ? "-tls" : ""}=${address}`),
  ];
  // The flags contain all they need: the settings file may have changed since the start.
  const plainEnvironment = withoutBerthVariables(environment);

  const createDownload = async (
    cancel: AbortSignal,
    argsFor: (path: string) => readonly string[],
    environment: Environment,
    readOutput: (stdout: string) => void = () => {},
  ): JobOutcome<Omit<Download, "name">> => {
    const path = catchSystemError(() => downloads.newPath());
    if (!path.ok) return path;
    const remove = (): void => downloads.remove(path.value);
    const exit = await runChildCommand(argsFor(path.value), environment, cancel);
    if (exit.ok && exit.value.exitCode === EXIT_OK) {
      readOutput(exit.value.stdout);
      return ok({ path: path.value, remove });
    }
    remove();
    return exit.ok ? err(toMaintenanceFault(exit.value)) : exit;
  };

  const reportDamage = (damage: VerifyOutput["audit_damage"]): void =>
    reportAuditFinding(
      damage === undefined ? null : { message: damage.finding, hint: damage.remedy },
    );

  return {
    doctor: (signal) =>
      queue.runJob(signal, async (cancel) => {
        const exit = await runChildCommand(
          ["doctor", ...siteFlags(), ...onEvent.map((text) => `--on-event=${text}`), "--json"],
          plainEnvironment,
          cancel,
        );
        if (!exit.ok) return exit;
        const { stdout } = exit.value;
        const reply = JSON.parse(stdout === "" ? "{}" : stdout) as DoctorReply | object;
        // Findings are a result, however bad they are.
        if (!("findings" in reply)) return err(toMaintenanceFault(exit.value));
        const damage = reply.findings.find(({ code }) => code === "audit_damaged");
        reportAuditFinding(
          damage === undefined ? null : { message: damage.summary, hint: damage.remedy },
        );
        return ok(reply);
      }),
    verify: (signal) =>
      queue.runJob(signal, async (cancel) => {
        const args = ["verify", ...dataFlag, "--allow-damaged-audit", "--json"];
        const exit = await runChildCommand(args, plainEnvironment, cancel);
        if (!exit.ok) return exit;
        const { exitCode, stdout, refusal } = exit.value;
        if (exitCode === EXIT_NEEDS_OPERATOR && refusal !== null) {
          return ok({ intact: false, finding: refusal.message, remedy: refusal.hint ?? "" });
        }
        if (exitCode !== EXIT_OK) return err(toMaintenanceFault(exit.value));
        const { ok: intact, audit_damage: damage, ...facts } = JSON.parse(stdout) as VerifyOutput;
        reportDamage(damage);
        if (damage !== undefined) {
          return ok({ intact: false, finding: damage.finding, remedy: damage.remedy });
        }
        return ok({ intact, ...facts } as VerifyReply);
      }),
    backup: (signal) =>
      queue.runJob<Download>(signal, async (cancel) => {
        // Checked first: the copy must not use the disk space that the server needs.
        if (!downloads.hasSpaceForBackup()) return err({ code: "storage_full" });
        const download = await createDownload(
          cancel,
          (path) => ["backup", path, ...dataFlag, "--json"],
          plainEnvironment,
          (stdout) => reportDamage((JSON.parse(stdout) as VerifyOutput).audit_damage),
        );
        return withFileName(download, `backup-${siteSlug(siteName())}`, "berth");
      }),
    supportBundle: (signal) =>
      queue.runJob(signal, async (cancel) => {
        const extraFlags = [...formatFlag("config", config), "--yes", "--json"];
        const argsFor = (path: string) => ["support-bundle", path, ...siteFlags(), ...extraFlags];
        // The bundle contains the settings, and some may come from environment variables.
        const download = await createDownload(cancel, argsFor, environment);
        return withFileName(download, "support-", "tar");
      }),
    removeLeftovers: () => downloads.removeAll(),
    stop() {
      queue.stop();
      downloads.removeAll();
    },
  };
}

const formatFlag = (name: string, value: string | null): string[] =>
  value === null ? [] : [`--${name}=${value}`];

export const withoutBerthVariables = (environment: Environment): Environment =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith("BERTH_")));

/** Names the file after the time in UTC, to the second. */
function withFileName(
  download: Result<Omit<Download, "name">, MaintenanceFault>,
  prefix: string,
  extension: string,
): Result<Download, MaintenanceFault> {
  if (!download.ok) return download;
  const time = new Date().toISOString().replaceAll(/[-:]/g, "").slice(0, 15);
  return ok({ ...download.value, name: `berth-${prefix}${time}Z.${extension}` });
}
