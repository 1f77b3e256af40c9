import { useSignal } from "@preact/signals";
import { admin, unwrapReply } from "../api.ts";
import { watchStatus } from "../status-stream.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { Form } from "../parts/form.tsx";
import { OneTimeSecret } from "../parts/one-time-secret.tsx";
import { signIn, token } from "../session.ts";
import { settings } from "./settings-texts.ts";

const { createToken, newToken } = settings.access;

/** Creates a token for someone else: this tab stays signed in with its own, if it has one. */
export function NewToken({ reload }: { reload: () => Promise<void> }) {
  const isOpen = useSignal(false);
  const createdToken = useSignal<string | null>(null);
  const name = useSignal("");
  const days = useSignal("90");
  const close = (): void => {
    isOpen.value = false;
    createdToken.value = null;
    name.value = "";
  };
  const submit = async (): Promise<void> => {
    const body = { name: name.value.trim(), days: days.value.trim() };
    const reply = await unwrapReply(admin.access.tokens.post(body));
    createdToken.value = reply.token;
    // The first token makes a credential mandatory: this tab signs in with it.
    if (token.value === null) {
      signIn(reply.token);
      void watchStatus();
    }
    await reload();
  };
  return (
    <>
      <Button kind="main" onClick={() => void (isOpen.value = true)}>
        {createToken.title}
      </Button>
      {isOpen.value && createdToken.value === null && (
        <Dialog title={createToken.title} onClose={close}>
          <Form submitLabel={createToken.act} onSubmit={submit}>
            <Field label={createToken.name} value={name} hint={createToken.nameHint} required />
            <Field label={createToken.days} value={days} hint={createToken.daysHint} />
          </Form>
        </Dialog>
      )}
      {createdToken.value !== null && (
        <OneTimeSecret {...newToken} secret={createdToken.value} onClose={close} />
      )}
    </>
  );
}
