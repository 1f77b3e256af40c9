import { formatSettingValue } from "../../../domain/model/setting-change.ts";
import { findNearest } from "../../../domain/text/nearest.ts";
import type { SettingChangesReply } from "../../../http/running-server.ts";
import {
  readEditedSettings,
  type EditedValues,
} from "../../../operations/settings/setting-changes.ts";
import { SERVICE_SETTINGS } from "../../../platform/environment.ts";
import { runAsFolderOwner } from "../../../platform/files/owner.ts";
import { errorCode } from "../../../platform/files/system-error.ts";
import { unwrapReply, withAdminClient, withRunningServer } from "../../client/admin-client.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { Misuse, settingsKey, type Option } from "../../frame/options.ts";
import { escapeToOneLine, formatTable, printWarning } from "../../frame/terminal.ts";
import { DEFAULT_SOURCE, LiveSettings } from "../../serve/live-settings.ts";
import { settings } from "../../serve/settings.ts";

const show = defineCommand({
  name: "config",
  isCommon: true,
  summary: "show the effective settings and the source of each",
  options: { ...settings, config: option.config, json: option.json },
  hasSettingsOf: "serve",
  examples: ["berth config", `berth config --config ${SERVICE_SETTINGS} --json`],
  async run({ config: _config, json: _json, ...values }, { setOptions, environment }) {
    const edited = await readEdited(values.data);
    const live = new LiveSettings({ settings: values, setOptions, environment, edited });
    const shown = [
      ...live.list().flatMap(({ option, value, source }) => {
        const isUnset = value === null || value === false || String(value) === "";
        const shownSetting = { name: settingsKey(option), value, source };
        return isUnset && source === DEFAULT_SOURCE ? [] : [shownSetting];
      }),
      ...setOptions
        .filter(({ name }) => name === option.config.name)
        .map(({ name, value, from }) => ({ name, value, source: from })),
    ];
    // None of them is a secret: keys and passwords are in files that settings only name.
    return {
      json: Object.fromEntries(shown.map(({ name, value, source }) => [name, { value, source }])),
      text: formatTable(shown.map(({ name, value, source }) => [name, String(value), source])),
      warnings: await describeServedSettings(live),
    };
  },
});

/**
 * What a running server uses instead: a flag or a variable of its own, or a file that was changed
 * since its start.
 */
async function describeServedSettings(live: LiveSettings): Promise<string[]> {
  const served = await withRunningServer(
    live.current.data,
    ({ admin }) => unwrapReply(admin.settings.get()),
    // The list must not depend on a server that cannot answer.
  ).catch(() => null);
  const values = new Map(
    live.list().map(({ option, value }) => [settingsKey(option), JSON.stringify(value)]),
  );
  return (served?.settings ?? [])
    .filter(({ name }) => name !== option.data.name)
    .filter(({ name, value }) => values.get(name) !== JSON.stringify(value))
    .map(({ name, value, source }) => {
      const text = formatSettingValue(typeof value === "object" ? (value ?? "") : String(value));
      return escapeToOneLine(`the running server uses ${name} = ${text}, from ${source}`);
    });
}

/** Only the owner of the data folder can read what was edited on the page. */
async function readEdited(folder: string): Promise<EditedValues> {
  try {
    return await runAsFolderOwner(folder, async () => readEditedSettings(folder));
  } catch (error) {
    const code = errorCode(error);
    if (code !== "EACCES" && code !== "EPERM") throw error;
    printWarning(`settings edited on the page are not shown: ${folder} cannot be read (${code})`);
    return {};
  }
}

const editableSettings = {
  title: "settings that can be changed",
  values: Object.values<Option>(settings)
    .filter(({ isEditable }) => isEditable === true)
    .map(settingsKey),
};

const set = defineCommand({
  name: "config set",
  summary: "change a setting of the running server, at once and for later starts",
  options: { ...siteOptions, json: option.json },
  arguments: ["NAME", "VALUE"],
  valueList: editableSettings,
  examples: [
    'berth config set site_name "Plant 4"',
    "berth config set client_networks 10.1.0.0/16,10.2.0.0/16",
  ],
  async run(site, context) {
    const [writtenName, value] = context.args;
    const setting = requireSetting(writtenName);
    if (value === undefined) {
      throw new Misuse("a value is required", `for example berth config set ${writtenName} VALUE`);
    }
    const texts = value.split(",").map((text) => text.trim());
    const edit = setting.type === "list" ? texts.filter((text) => text !== "") : value;
    const reply = await withAdminClient(site, context, ({ admin }) =>
      unwrapReply(
        admin.settings.post({ changes: JSON.stringify({ [settingsKey(setting)]: edit }) }),
      ),
    );
    return { json: reply, text: describeChanges(settingsKey(setting), reply) };
  },
});

const reset = defineCommand({
  name: "config reset",
  summary: "set a setting of the running server to its default again",
  options: { ...siteOptions, json: option.json },
  arguments: ["NAME"],
  valueList: editableSettings,
  examples: ["berth config reset client_networks"],
  async run(site, context) {
    const name = settingsKey(requireSetting(context.args[0]));
    const reply = await withAdminClient(site, context, ({ admin }) =>
      unwrapReply(admin.settings.post({ changes: JSON.stringify({ [name]: null }) })),
    );
    return { json: reply, text: describeChanges(name, reply) };
  },
});

export const configCommands = [show, set, reset];

/** Accepts the name as in the settings file and as in the flag. */
function requireSetting(name: string | undefined): Option {
  const list = "berth help config set lists the settings that can be changed";
  if (name === undefined) throw new Misuse("the name of a setting is required", list);
  const key = name.replaceAll("-", "_");
  const options: readonly Option[] = Object.values(settings);
  const found = options.find((candidate) => settingsKey(candidate) === key);
  if (found !== undefined) return found;
  const nearest = findNearest(key, options.map(settingsKey));
  const hint = nearest === null ? list : `did you mean ${nearest}? ${list}`;
  throw new Misuse(`unknown setting: ${name}`, hint);
}

const describeChanges = (name: string, { changes }: SettingChangesReply): string =>
  changes
    .map(
      (change) =>
        `${change.name} is ${formatSettingValue(change.to)}, was ${formatSettingValue(change.from)}`,
    )
    .join("\n") || `${name} has this value already; nothing was changed`;
