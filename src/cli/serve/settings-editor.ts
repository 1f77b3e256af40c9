import type { SettingChange } from "../../domain/model/setting-change.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import type { SettingFault, SettingsChangeFault } from "../../faults/fault-types.ts";
import type {
  SettingChangesReply,
  SettingEdit,
  SettingEdits,
  SettingsCaller,
} from "../../http/running-server.ts";
import type { EditedValues, SettingChanges } from "../../operations/settings/setting-changes.ts";
import { TaskQueue } from "../../platform/schedule/task-queue.ts";
import { settingsKey, type Option } from "../frame/options.ts";
import { canAdminister } from "./access-policy.ts";
import { explainFixedSetting } from "./fixed-settings.ts";
import { parseEdited, type LiveSettings } from "./live-settings.ts";
import { settings as settingTable } from "./settings.ts";

export interface SettingsEditorOptions {
  readonly live: LiveSettings;
  readonly settingChanges: Pick<SettingChanges, "save" | "read">;
  /** The settings file that was read at the start; null: there is none. */
  readonly config: string | null;
}

type EditedValue = EditedValues[string];

interface CheckedEdit extends SettingChange {
  readonly option: Option;
  /** Null: the default. */
  readonly value: EditedValue | null;
}

/** A list of networks is sent and stored as a whole. */
const MAX_LIST_LENGTH = 64;

/** Changes settings of a running server: all that a request names, or none. */
export class SettingsEditor {
  readonly #live: LiveSettings;
  readonly #settingChanges: SettingsEditorOptions["settingChanges"];
  readonly #config: string | null;
  readonly #queue = new TaskQueue();

  constructor({ live, settingChanges, config }: SettingsEditorOptions) {
    this.#live = live;
    this.#settingChanges = settingChanges;
    this.#config = config;
  }

  /** One request at a time: the next one begins with what the previous one saved. */
  change(
    edits: SettingEdits,
    caller: SettingsCaller,
  ): Promise<Result<SettingChangesReply, SettingsChangeFault>> {
    return this.#queue.runTask(async () => {
      const checked = this.#checkAll(edits);
      if (!checked.ok) return checked;
      const changes = checked.value.filter(({ from, to }) => !isSameValue(from, to));
      if (changes.length === 0) return ok({ changes: [] });
      const edited = applyEdits(this.#live.edited, changes);
      const lockout = this.#findLockout(edited, caller.address);
      if (lockout !== null) return err(lockout);
      const named = changes.map(({ name, from, to }) => ({ name, from, to }));
      const saved = await this.#settingChanges.save(edited, named, caller.peer);
      // If it failed, the file may be the old or the new one; the next start will use it.
      this.#live.replaceEdited(saved.ok ? edited : this.#settingChanges.read());
      return saved.ok ? ok({ changes: named.map(toReply) }) : saved;
    });
  }

  #checkAll(edits: SettingEdits): Result<CheckedEdit[], SettingFault> {
    const checked: CheckedEdit[] = [];
    for (const [writtenName, edit] of Object.entries(edits)) {
      const result = this.#check(writtenName, edit);
      if (!result.ok) return result;
      const { name } = result.value;
      // Written with a dash and with an underscore. The audit log would contain both values.
      if (checked.some((other) => other.name === name)) {
        const problem = "is named twice";
        return err({ code: "invalid_setting", setting: name, problem, example: "" });
      }
      checked.push(result.value);
    }
    return ok(checked);
  }

  #check(writtenName: string, edit: SettingEdit): Result<CheckedEdit, SettingFault> {
    const name = writtenName.replaceAll("-", "_");
    const option: Option | undefined = Object.values<Option>(settingTable).find(
      (candidate) => settingsKey(candidate) === name,
    );
    if (option === undefined) return err({ code: "unknown_setting" });
    const setting = this.#live.describe(option);
    const reason = explainFixedSetting(setting, this.#config);
    if (reason !== null) return err({ code: "setting_not_editable", setting: name, reason });
    const value = edit === null ? null : checkValue(option, name, edit);
    if (value !== null && !value.ok) return value;
    const to = value?.value ?? setting.defaultValue;
    return ok({
      option,
      name,
      value: value?.value ?? null,
      from: toAuditValue(setting.value),
      to: toAuditValue(to),
    });
  }

  #findLockout(edited: EditedValues, address: string): SettingFault | null {
    if (canAdminister(this.#live.preview(edited), address)) return null;
    // A caller that is excluded already, such as one in a demo, is not excluded by this change.
    if (!canAdminister(this.#live.current, address)) return null;
    return { code: "own_address_excluded", setting: "client_networks", address };
  }
}

function checkValue(
  option: Option,
  setting: string,
  edit: Exclude<SettingEdit, null>,
): Result<EditedValue, SettingFault> {
  // A count may be a number in JSON; in flags, variables and files it is a text of digits.
  const value = typeof edit === "number" ? String(edit) : edit;
  if (typeof value === "boolean") {
    return err({ code: "invalid_setting", setting, problem: "must be a text", example: "" });
  }
  if (typeof value === "object" && value.length > MAX_LIST_LENGTH) {
    const problem = `may have at most ${MAX_LIST_LENGTH} entries`;
    return err({ code: "invalid_setting", setting, problem, example: "" });
  }
  const parsed = parseEdited(option, value);
  if (parsed.ok) return ok(typeof value === "string" ? value : [...value]);
  const { problem, problemWithoutValue = problem, hint } = parsed.fault;
  const position = typeof value === "string" ? 0 : positionOfInvalid(option, value);
  const place = position === 0 ? "" : `; entry ${position} is not valid`;
  return err({
    code: "invalid_setting",
    setting,
    problem: `${problemWithoutValue}${place}`,
    example: hint,
  });
}

/** From 1; 0: not found. */
const positionOfInvalid = ({ parse }: Option, texts: readonly string[]): number =>
  texts.findIndex((text) => parse?.(text).ok === false) + 1;

function applyEdits(edited: EditedValues, changes: readonly CheckedEdit[]): EditedValues {
  const values = new Map(Object.entries(edited));
  for (const { name, value } of changes) {
    if (value === null) values.delete(name);
    else values.set(name, value);
  }
  return Object.fromEntries(values);
}

type SettingText = SettingChange["from"];

/** No editable setting is true or false; one that is not set is an empty text. */
const toAuditValue = (value: string | boolean | readonly string[] | null): SettingText =>
  typeof value === "object" && value !== null ? value : String(value ?? "");

const isSameValue = (a: SettingText, b: SettingText): boolean =>
  JSON.stringify(a) === JSON.stringify(b);

const toReply = ({ name, from, to }: SettingChange): SettingChangesReply["changes"][number] => ({
  name,
  from: typeof from === "string" ? from : [...from],
  to: typeof to === "string" ? to : [...to],
});
