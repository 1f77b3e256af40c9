import { useSignal } from "@preact/signals";
import type { SettingsReply } from "../../http/running-server.ts";
import { admin, unwrapReply } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { Form } from "../parts/form.tsx";
import { Select } from "../parts/select.tsx";
import { backupTexts } from "./backups-texts.ts";
import { joinSchedule, splitSchedule } from "./describe-schedule.ts";

const { edit: texts, schedule: scheduleTexts } = backupTexts;

type Setting = SettingsReply["settings"][number];

interface Props {
  readonly settings: readonly Setting[];
  readonly reload: () => Promise<void>;
}

/** Edits when backups are made and how many are kept, unless these are set elsewhere. */
export function ScheduleForm({ settings, reload }: Props) {
  const isOpen = useSignal(false);
  const schedule = settings.find(({ name }) => name === "backup_schedule");
  const keep = settings.find(({ name }) => name === "backup_keep");
  const edited = [schedule, keep].filter((setting) => setting !== undefined);
  const isEditable = edited.some(({ editable }) => editable);
  return (
    <>
      {edited
        .filter(({ editable }) => !editable)
        .map(({ name, why_not }) => (
          <p key={name} class="hint">
            {texts.fixed(name, why_not ?? "")}
          </p>
        ))}
      {isEditable && <Button onClick={() => void (isOpen.value = true)}>{texts.act}</Button>}
      {isOpen.value && (
        <Dialog title={texts.title} onClose={() => (isOpen.value = false)}>
          <Fields
            schedule={schedule}
            keep={keep}
            onCancel={() => (isOpen.value = false)}
            onSaved={async () => {
              await reload();
              isOpen.value = false;
            }}
          />
        </Dialog>
      )}
    </>
  );
}

interface FieldsProps {
  readonly schedule: Setting | undefined;
  readonly keep: Setting | undefined;
  readonly onCancel: () => void;
  readonly onSaved: () => Promise<void>;
}

const WEEKDAYS = scheduleTexts.weekdays.map((name, index) => [String(index + 1), name] as const);

function Fields({ schedule, keep, onCancel, onSaved }: FieldsProps) {
  const parts = splitSchedule(textOf(schedule));
  const frequency = useSignal(parts.frequency);
  const weekday = useSignal(parts.weekday);
  const time = useSignal(parts.time);
  const keepCount = useSignal(textOf(keep));
  const save = async (): Promise<void> => {
    const text = joinSchedule({
      frequency: frequency.value,
      weekday: weekday.value,
      time: time.value,
    });
    // Only what differs: the rest keeps its source.
    const changes = {
      ...(schedule?.editable === true && text !== textOf(schedule) && { backup_schedule: text }),
      ...(keep?.editable === true &&
        keepCount.value.trim() !== textOf(keep) && { backup_keep: keepCount.value.trim() }),
    };
    if (Object.keys(changes).length > 0) {
      await unwrapReply(admin.settings.post({ changes: JSON.stringify(changes) }));
    }
    await onSaved();
  };
  const hasTime = frequency.value === "daily" || frequency.value === "weekly";
  return (
    <Form submitLabel={texts.save} onSubmit={save} onCancel={onCancel}>
      {schedule?.editable === true && (
        <>
          <Select
            label={texts.frequency}
            value={frequency.value}
            options={texts.frequencies}
            onChange={(value) => (frequency.value = value)}
          />
          {frequency.value === "weekly" && (
            <Select
              label={texts.weekday}
              value={weekday.value}
              options={WEEKDAYS}
              onChange={(value) => (weekday.value = value)}
            />
          )}
          {hasTime && (
            <Field label={texts.time} name="backup_schedule" value={time} hint={texts.timeHint} />
          )}
        </>
      )}
      {keep?.editable === true && (
        <Field label={texts.keep} name="backup_keep" value={keepCount} hint={texts.keepHint} />
      )}
    </Form>
  );
}

const textOf = (setting: Setting | undefined): string => String(setting?.value ?? "");
