import { err, ok, type Result } from "../../domain/result.ts";
import type {
  DoctorReply,
  Download,
  MaintenanceFault,
  RunningServer,
  SettingsReply,
  VerifyReply,
} from "../../http/running-server.ts";
import { realDisk } from "../../platform/disk.ts";
import type { Environment } from "../../platform/options.ts";
import type { AuditFinding } from "../../store/audit/audit-health.ts";
import { hasSpaceForCopy } from "../../store/disk-space.ts";
import { EXIT_OK, EXIT_NEEDS_OPERATOR, getStringFlag, type FlagValues } from "../command.ts";
import { Downloads } from "./downloads.ts";
import { runChildCommand } from "./child-command.ts";
import { toMaintenanceFault, catchSystemError } from "./maintenance-fault.ts";
import { JobQueue } from "./job-queue.ts";

interface MaintenanceContext {
  readonly flags: FlagValues;
  readonly folder: string;
  /** As they are bound. */
  readonly listeners: () => SettingsReply["listeners"];
  /** Hears what was found out about the audit log; null: that it is whole. */
  readonly reportAuditFinding: (found: AuditFinding | null) => void;
}

export interface MaintenanceJobs extends Omit<RunningServer, "settings"> {
  /** Removes what a server that was killed left behind. */
  readonly removeLeftovers: () => void;
  readonly stop: () => void;
}

/** What `verify` prints. */
interface VerifyOutput {
  readonly ok: true;
  readonly audit_damage?: { readonly finding: string; readonly remedy: string };
}

type JobOutcome<T> = Promise<Result<T, MaintenanceFault>>;

/** The very commands an operator would type on the machine, for one who is not there. */
export function createMaintenanceJobs({
  flags,
  folder,
  listeners,
  reportAuditFinding,
}: MaintenanceContext): MaintenanceJobs {
  const turns = new JobQueue();
  const downloads = new Downloads(folder);
  const stopping = new AbortController();
  const data = [`--data=${folder}`];
  const around = (): string[] => [
    ...data,
    ...formatFlag(flags, "identity"),
    ...listeners().map(({ address, tls }) => `--listen${tls ? "-tls" : ""}=${address}`),
  ];
  // All they need is said: a settings file that was changed since may hold something else by now.
  const bare = withoutBerthVariables(flags.environment);

  const inTurn = <T>(
    signal: AbortSignal,
    work: (ends: AbortSignal) => JobOutcome<T>,
  ): JobOutcome<T> => {
    const ends = AbortSignal.any([signal, stopping.signal]);
    return turns.run(ends, () => work(ends));
  };

  const make = async (
    ends: AbortSignal,
    wordsFor: (path: string) => readonly string[],
    environment: Environment,
  ): JobOutcome<Omit<Download, "name">> => {
    const path = catchSystemError(() => downloads.newPath());
    if (!path.ok) return path;
    const remove = (): void => downloads.remove(path.value);
    const ended = await runChildCommand(wordsFor(path.value), environment, ends);
    if (ended.ok && ended.value.code === EXIT_OK) return ok({ path: path.value, remove });
    remove();
    return ended.ok ? err(toMaintenanceFault(ended.value)) : ended;
  };

  return {
    doctor: (signal) =>
      inTurn(signal, async (ends) => {
        const ended = await runChildCommand(["doctor", ...around(), "--json"], bare, ends);
        if (!ended.ok) return ended;
        const { stdout } = ended.value;
        const reply = JSON.parse(stdout === "" ? "{}" : stdout) as DoctorReply | object;
        // However bad it is, that is its answer.
        return "findings" in reply ? ok(reply) : err(toMaintenanceFault(ended.value));
      }),
    verify: (signal) =>
      inTurn(signal, async (ends) => {
        const words = ["verify", ...data, "--allow-damaged-audit", "--json"];
        const ended = await runChildCommand(words, bare, ends);
        if (!ended.ok) return ended;
        const { code, stdout, error: finding, hint: remedy } = ended.value;
        if (code === EXIT_NEEDS_OPERATOR) return ok({ intact: false, finding, remedy });
        if (code !== EXIT_OK) return err(toMaintenanceFault(ended.value));
        const { ok: intact, audit_damage: damage, ...facts } = JSON.parse(stdout) as VerifyOutput;
        reportAuditFinding(
          damage === undefined ? null : { message: damage.finding, hint: damage.remedy },
        );
        if (damage !== undefined) {
          return ok({ intact: false, finding: damage.finding, remedy: damage.remedy });
        }
        return ok({ intact, ...facts } as VerifyReply);
      }),
    backup: (signal) =>
      inTurn(signal, async (ends) => {
        // Not after the copy has taken what the server needs for its next answers.
        if (!hasSpaceForCopy(realDisk, folder)) return err({ code: "storage_full" });
        const made = await make(ends, (path) => ["backup", path, ...data, "--json"], bare);
        return withFileName(made, "backup");
      }),
    supportBundle: (signal) =>
      inTurn(signal, async (ends) => {
        const more = [...formatFlag(flags, "config"), "--yes", "--json"];
        const wordsFor = (path: string) => ["support-bundle", path, ...around(), ...more];
        // What it tells of the settings is what the variables say, too.
        return withFileName(await make(ends, wordsFor, flags.environment), "support");
      }),
    removeLeftovers: () => downloads.removeAll(),
    stop() {
      stopping.abort();
      downloads.removeAll();
    },
  };
}

const formatFlag = (given: FlagValues, name: string): string[] => {
  const value = getStringFlag(given, name);
  return value === null ? [] : [`--${name}=${value}`];
};

const withoutBerthVariables = (environment: Environment): Environment =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith("BERTH_")));

/** By its time, to the second and in UTC. */
function withFileName(
  made: Result<Omit<Download, "name">, MaintenanceFault>,
  thing: string,
): Result<Download, MaintenanceFault> {
  if (!made.ok) return made;
  const time = new Date().toISOString().replaceAll(/[-:]/g, "").slice(0, 15);
  return ok({ ...made.value, name: `berth-${thing}-${time}Z.tar` });
}
