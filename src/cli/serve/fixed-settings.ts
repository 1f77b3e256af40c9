import { settingsKey } from "../frame/options.ts";
import { DEFAULT_SOURCE, PAGE_SOURCE, type LiveSetting } from "./live-settings.ts";

/**
 * Why a setting cannot be changed while the server runs, and how to change it; null: it can be.
 * `config` is the settings file that the server read at its start.
 */
export function explainFixedSetting(setting: LiveSetting, config: string | null): string | null {
  const { option, source } = setting;
  const isSetElsewhere = source !== DEFAULT_SOURCE && source !== PAGE_SOURCE;
  if (option.isEditable !== true) {
    return `${option.fixedReason ?? "it is read at the start"}. ${howToChange(setting, config)}`;
  }
  return isSetElsewhere ? `it is set ${describeSource(source)}. ${howToRemove(source)}` : null;
}

const isFlag = (source: string): boolean => source.startsWith("--");
const isVariable = (source: string): boolean => source.startsWith("BERTH_");

function describeSource(source: string): string {
  if (isFlag(source)) return `by ${source} on the server's command line`;
  return isVariable(source) ? `by the variable ${source}` : `in ${source}`;
}

const howToRemove = (source: string): string =>
  isFlag(source) || isVariable(source)
    ? "Start the server without it to change it here."
    : "Remove it there and restart the server to change it here.";

/** Where the value is set now, or else where it can be set. */
function howToChange({ option, source }: LiveSetting, config: string | null): string {
  if (isFlag(source))
    return `Change ${source} on the server's command line and restart the server.`;
  if (isVariable(source)) return `Change the variable ${source} and restart the server.`;
  const file = source === DEFAULT_SOURCE ? config : source;
  if (file !== null) return `Change it in ${file} and restart the server.`;
  return `Start the server with --${option.name}, or with ${settingsKey(option)} in a settings file.`;
}
