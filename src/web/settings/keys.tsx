import { useSignal } from "@preact/signals";
import { admin, unwrapReply, v4 } from "../api.ts";
import { useQuery } from "../use-query.ts";
import { Facts } from "../parts/facts.tsx";
import { Field } from "../parts/field.tsx";
import { Form } from "../parts/form.tsx";
import { Notice } from "../parts/notice.tsx";
import { QueryContent } from "../parts/query-content.tsx";
import { settings } from "./settings-texts.ts";
import { CliCommands } from "../parts/cli-commands.tsx";

const { keys } = settings;

/** Cloud keys: write-only. */
export function Keys() {
  const query = useQuery(() => unwrapReply(admin.settings.get()));
  const apiKey = useSignal("");
  const sharedKey = useSignal("");
  const updated = useSignal<readonly string[] | null>(null);
  const submit = async (): Promise<void> => {
    updated.value = null;
    const body = { apiKey: apiKey.value, sharedKey: sharedKey.value };
    const reply = await unwrapReply(v4.setKeys.post(body));
    apiKey.value = "";
    sharedKey.value = "";
    // Before the message: "Saved" must not stand beside "not set".
    await query.refresh();
    updated.value = reply.updated;
  };
  return (
    <>
      <section class="card">
        <h3>{settings.sections.keys}</h3>
        <p class="muted">{keys.about}</p>
        <QueryContent query={query}>
          {({ cloud_keys, read_only }) => (
            <>
              <Facts
                as="lines"
                facts={[
                  [keys.apiKey, stateOf(cloud_keys.api_key)],
                  [keys.sharedKey, stateOf(cloud_keys.shared_key)],
                ]}
              />
              {!read_only && (
                <Form submitLabel={keys.act} onSubmit={submit}>
                  <Field label={keys.newApiKey} type="password" value={apiKey} hint={keys.hint} />
                  <Field
                    label={keys.newSharedKey}
                    type="password"
                    value={sharedKey}
                    hint={keys.hint}
                  />
                </Form>
              )}
            </>
          )}
        </QueryContent>
        {updated.value !== null && <KeysNotice updated={updated.value} />}
      </section>
      <CliCommands commands={keys.commands} />
    </>
  );
}

const stateOf = (isSet: boolean): string => (isSet ? keys.state.set : keys.state.notSet);

const KeysNotice = ({ updated }: { updated: readonly string[] }) =>
  updated.length === 0 ? (
    <Notice kind="note">{keys.unchanged}</Notice>
  ) : (
    <Notice kind="good">
      {keys.updated(updated.map((name) => keys.names[name] ?? name).join(", "))}
    </Notice>
  );
