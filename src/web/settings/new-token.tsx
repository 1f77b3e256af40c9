import { useSignal } from "@preact/signals";
import { admin, unwrapReply } from "../api.ts";
import { watchStatus } from "../status-stream.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { Form } from "../parts/form.tsx";
import { OneTimeSecret } from "../parts/one-time-secret.tsx";
import { signIn, token } from "../session.ts";
import { settings } from "../texts/settings.ts";

const { createToken: make, newToken: kept } = settings.access;

/** A token for somebody else to use: this tab stays signed in with its own, if it has one. */
export function NewToken({ reload }: { reload: () => Promise<void> }) {
  const asking = useSignal(false);
  const made = useSignal<string | null>(null);
  const name = useSignal("");
  const days = useSignal("90");
  const close = (): void => {
    asking.value = false;
    made.value = null;
    name.value = "";
  };
  const submit = async (): Promise<void> => {
    const body = { name: name.value.trim(), days: days.value.trim() };
    const reply = await unwrapReply(admin.access.tokens.post(body));
    made.value = reply.token;
    // The first one of all shuts the door behind whoever made it: they go on with it.
    if (token.value === null) {
      signIn(reply.token);
      void watchStatus();
    }
    await reload();
  };
  return (
    <>
      <Button kind="main" onClick={() => void (asking.value = true)}>
        {make.title}
      </Button>
      {asking.value && made.value === null && (
        <Dialog title={make.title} onClose={close}>
          <Form submitLabel={make.act} onSubmit={submit}>
            <Field label={make.name} value={name} hint={make.nameHint} required />
            <Field label={make.days} value={days} hint={make.daysHint} />
          </Form>
        </Dialog>
      )}
      {made.value !== null && <OneTimeSecret {...kept} secret={made.value} onClose={close} />}
    </>
  );
}
