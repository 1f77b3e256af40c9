import { useSignal } from "@preact/signals";
import type { SettingsReply } from "../../http/running-server.ts";
import { admin, unwrapReply } from "../api.ts";
import { Facts } from "../parts/facts.tsx";
import { Field } from "../parts/field.tsx";
import { Form } from "../parts/form.tsx";
import { Notice } from "../parts/notice.tsx";
import { SETTING_TEXTS, settingForm } from "./setting-texts.ts";
import {
  differencesOf,
  formatSettingValue,
  textOfSetting,
  toSettingValue,
  type Setting,
  type SettingDifference,
} from "./setting-values.ts";

interface Props {
  readonly settings: SettingsReply["settings"];
  /** The names of the settings, in the order of the fields. */
  readonly names: readonly string[];
  readonly onSaved: () => Promise<void>;
}

/** Fields for settings. What differs is shown before it is sent; all of it is saved, or nothing. */
export function SettingForm({ settings, names, onSaved }: Props) {
  const drafts = useSignal<Readonly<Record<string, string>>>({});
  const saved = useSignal<readonly SettingDifference[] | null>(null);
  const shown = names.flatMap((name) => settings.find((setting) => setting.name === name) ?? []);
  const differences = differencesOf(shown, drafts.value);
  const submit = async (): Promise<void> => {
    saved.value = null;
    const changes = Object.fromEntries(
      differences.map(({ setting }) => [
        setting.name,
        toSettingValue(setting, drafts.value[setting.name] ?? ""),
      ]),
    );
    if (differences.length > 0) {
      await unwrapReply(admin.settings.post({ changes: JSON.stringify(changes) }));
      await onSaved();
    }
    saved.value = differences;
    drafts.value = {};
  };
  const discard = differences.length === 0 ? {} : { onCancel: () => void (drafts.value = {}) };
  const fields = shown.map((setting) => (
    <SettingField
      key={setting.name}
      setting={setting}
      draft={drafts.value[setting.name]}
      onInput={(text) => {
        saved.value = null;
        drafts.value = { ...drafts.value, [setting.name]: text };
      }}
    />
  ));
  if (!shown.some(({ editable }) => editable)) return <>{fields}</>;
  return (
    <>
      <Form
        submitLabel={settingForm.save}
        cancelLabel={settingForm.discard}
        {...discard}
        onSubmit={submit}
      >
        {fields}
        <div role="status">
          {differences.length > 0 && <Differences differences={differences} />}
        </div>
      </Form>
      {saved.value !== null && <SavedNotice differences={saved.value} />}
    </>
  );
}

interface FieldProps {
  readonly setting: Setting;
  /** Undefined: not edited. */
  readonly draft: string | undefined;
  readonly onInput: (text: string) => void;
}

function SettingField({ setting, draft, onInput }: FieldProps) {
  const { name, help, editable, why_not } = setting;
  const { label, hint } = SETTING_TEXTS[name] ?? { label: name, hint: help };
  if (!editable) {
    return (
      <div class="field fixed-setting">
        <p class="label">{label}</p>
        <p>{formatSettingValue(setting, setting.value)}</p>
        <p class="hint">
          {settingForm.notEditable} {why_not}
        </p>
      </div>
    );
  }
  const defaultText = formatSettingValue(setting, setting.default);
  const source = setting.source === "page" ? ` ${settingForm.setHere}` : "";
  const note = `${hint} ${settingForm.defaultValue(defaultText)}${source}`;
  // A field needs a signal; this one passes on what is typed.
  const value = {
    get value() {
      return draft ?? textOfSetting(setting.value);
    },
    set value(text: string) {
      onInput(text);
    },
  };
  return <Field label={label} name={name} hint={note} value={value} />;
}

const Differences = ({ differences }: { differences: readonly SettingDifference[] }) => (
  <section class="differences">
    <h4>{settingForm.changes}</h4>
    <Facts
      as="lines"
      facts={differences.map(({ setting: { name }, from, to }) => [
        SETTING_TEXTS[name]?.label ?? name,
        settingForm.change(from, to),
      ])}
    />
  </section>
);

const SavedNotice = ({ differences }: { differences: readonly SettingDifference[] }) =>
  differences.length === 0 ? (
    <Notice kind="note">{settingForm.nothingChanged}</Notice>
  ) : (
    <Notice kind="good" title={settingForm.saved}>
      {differences.map(({ setting: { name }, from, to }) => (
        <p key={name}>
          {SETTING_TEXTS[name]?.label ?? name}: {settingForm.change(from, to)}
        </p>
      ))}
    </Notice>
  );
