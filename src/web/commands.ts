import { computed } from "@preact/signals";
import { commandFor, type CommandContext } from "./command-line.ts";
import { readMeta } from "./page-meta.ts";
import { serverStatus } from "./status-stream.ts";

/** A command that works on this server as it is shown; it may begin with `berth`. */
export const berthCommand = (command: string): string => commandFor(context.value, command);

/** As a text, so that a new status with the same values changes nothing. */
const contextFromStatus = computed(() => {
  const commandLine = serverStatus.value?.command_line;
  return commandLine === undefined ? null : JSON.stringify(commandLine);
});

const context = computed((): CommandContext => {
  if (contextFromStatus.value === null) return contextFromPage();
  const reply = JSON.parse(contextFromStatus.value) as NonNullable<
    typeof serverStatus.value
  >["command_line"];
  return {
    executable: reply.executable,
    needsSudo: reply.needs_sudo,
    dataFolder: reply.data_folder,
  };
});

/** Whether the server runs under a user of its own, as the service does. */
export const runsAsService = computed(() => context.value.needsSudo);

/** The server writes these into the page, so that they are known before signing in. */
const contextFromPage = (): CommandContext => ({
  executable: readMeta("berth-executable") || "berth",
  needsSudo: readMeta("berth-sudo") === "yes",
  dataFolder: readMeta("berth-data"),
});
