import { accessSync, constants, statSync } from "node:fs";
import { findingReport, passedReport, type HealthReport } from "../../operations/health/finding.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { quoteIfNeeded } from "../../platform/shell-quote.ts";
import { isHiddenByUnit } from "../service/unit.ts";

const unusable = (summary: string, remedy: string, command: string | null = null) => [
  findingReport("on_event_unusable", "warning", { summary, remedy, command }),
];

const OTHERS_CAN_WRITE = 0o022;

/** Checks, as the owner of the data folder, whether the program of `on_event` can be run. */
export function checkEventProgram(onEvent: readonly string[], isService: boolean): HealthReport[] {
  const [program] = onEvent;
  if (program === undefined || !program.startsWith("/")) return [];
  const path = quoteIfNeeded(program);
  if (isService && isHiddenByUnit(program)) {
    return unusable(
      `The service cannot run ${program} of on_event`,
      "Its unit hides home folders, /tmp and /var/tmp: move the program, for example to " +
        "/usr/local/bin",
    );
  }
  try {
    const { mode } = statSync(program);
    accessSync(program, constants.X_OK);
    if ((mode & OTHERS_CAN_WRITE) !== 0) {
      return unusable(
        `Other users can change ${program}, which the server runs (on_event)`,
        "Let only its owner write to it",
        `chmod go-w ${path}`,
      );
    }
    if (statSync(program).isFile()) {
      return [passedReport("notifications", `${program} can be run for events`)];
    }
    return unusable(`${program} of on_event is no file`, "Set on_event to a program");
  } catch (error) {
    const code = errorCode(error);
    if (code === "EACCES") {
      return unusable(
        `The server may not run ${program} of on_event (EACCES)`,
        "Make it executable for the user of the server",
        `chmod 755 ${path}`,
      );
    }
    if (code === null) throw error;
    return unusable(
      `${program} of on_event cannot be run (${code})`,
      "Set on_event to a program that exists",
    );
  }
}
