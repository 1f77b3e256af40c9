import { useSignal } from "@preact/signals";
import { unwrapReply, v4 } from "../api.ts";
import { Field } from "../parts/field.tsx";
import { Form } from "../parts/form.tsx";
import { Notice } from "../parts/notice.tsx";
import { settings } from "./settings-texts.ts";
import { CliCommands } from "../parts/cli-commands.tsx";

const { keys } = settings;

/** Cloud keys: write-only. */
export function Keys() {
  const apiKey = useSignal("");
  const sharedKey = useSignal("");
  const updated = useSignal<readonly string[] | null>(null);
  const submit = async (): Promise<void> => {
    updated.value = null;
    const body = { apiKey: apiKey.value, sharedKey: sharedKey.value };
    ({ updated: updated.value } = await unwrapReply(v4.setKeys.post(body)));
    apiKey.value = "";
    sharedKey.value = "";
  };
  return (
    <>
      <section class="card">
        <h3>{settings.sections.keys}</h3>
        <p class="muted">{keys.about}</p>
        <Form submitLabel={keys.act} onSubmit={submit}>
          <Field label={keys.apiKey} type="password" value={apiKey} hint={keys.hint} />
          <Field label={keys.sharedKey} type="password" value={sharedKey} hint={keys.hint} />
        </Form>
        {updated.value !== null && <KeysNotice updated={updated.value} />}
      </section>
      <CliCommands commands={keys.commands} />
    </>
  );
}

const KeysNotice = ({ updated }: { updated: readonly string[] }) =>
  updated.length === 0 ? (
    <Notice kind="note">{keys.unchanged}</Notice>
  ) : (
    <Notice kind="good">
      {keys.updated(updated.map((name) => keys.names[name] ?? name).join(", "))}
    </Notice>
  );
