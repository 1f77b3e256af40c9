import type { SettingsReply } from "../../http/running-server.ts";
import { admin, unwrapReply } from "../api.ts";
import { AsyncContent } from "../parts/async-content.tsx";
import { CliCommands } from "../parts/cli-commands.tsx";
import { settings } from "./settings-texts.ts";
import { SettingForm } from "./setting-form.tsx";
import { general, settingForm } from "./setting-texts.ts";
import { formatSettingValue } from "./setting-values.ts";

const NAMES = [
  "site_name",
  "expiry_warning_days",
  "max_slots_per_user",
  "max_slots_per_peer",
  "max_places_per_caller",
  "audit_keep_months",
  "usage_months",
  "audit_budget",
];

/** What can be edited, and all settings with their sources. */
export const General = () => (
  <>
    <AsyncContent load={() => unwrapReply(admin.settings.get())}>
      {(reply, reload) => (
        <>
          <section class="card">
            <h3>{settings.sections.general}</h3>
            <p class="muted">{general.about}</p>
            <SettingForm settings={reply.settings} names={NAMES} onSaved={reload} />
          </section>
          <AllSettings reply={reply} />
        </>
      )}
    </AsyncContent>
    <CliCommands commands={general.commands} />
  </>
);

const AllSettings = ({ reply }: { reply: SettingsReply }) => (
  <section class="card">
    <h3>{general.all}</h3>
    <p class="muted">{general.allAbout}</p>
    <ul class="all-settings">
      {reply.settings.map((setting) => (
        <li key={setting.name}>
          <code>{setting.name}</code>
          <span>{formatSettingValue(setting, setting.value)}</span>
          <span class="muted">
            {settingForm.sources[setting.source] ?? settingForm.from(setting.source)}
          </span>
          <p class="hint">
            {setting.why_not === null ? general.editableHere : general.whyNot(setting.why_not)}
          </p>
        </li>
      ))}
    </ul>
  </section>
);
