import { useSignal } from "@preact/signals";
import { admin, unwrapReply } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { Form } from "../parts/form.tsx";
import { OneTimeSecret } from "../parts/one-time-secret.tsx";
import { Select } from "../parts/select.tsx";
import { token } from "../session.ts";
import { signInWithToken } from "./start-session.ts";
import { access } from "./access-texts.ts";
import { RoleSelect } from "./role-select.tsx";

const { createToken, newToken } = access;

const ONE_YEAR = "365";

/** Creates a token for another person or a program: this tab keeps its own session. */
export function NewToken({ reload }: { reload: () => Promise<void> }) {
  const isOpen = useSignal(false);
  const createdToken = useSignal<string | null>(null);
  const name = useSignal("");
  const role = useSignal("admin");
  const days = useSignal(ONE_YEAR);
  const open = (): void => {
    name.value = "";
    role.value = "admin";
    days.value = ONE_YEAR;
    isOpen.value = true;
  };
  const close = (): void => {
    isOpen.value = false;
    createdToken.value = null;
  };
  const submit = async (): Promise<void> => {
    const body = { name: name.value.trim(), role: role.value, days: days.value };
    const reply = await unwrapReply(admin.access.tokens.post(body));
    createdToken.value = reply.token;
    // The first administrator's token makes a credential mandatory: this tab signs in with it.
    if (token.value === null && reply.role === "admin") await signInWithToken(reply.token);
    await reload();
  };
  return (
    <>
      <Button kind="main" onClick={open}>
        {createToken.title}
      </Button>
      {isOpen.value && createdToken.value === null && (
        <Dialog title={createToken.title} onClose={close}>
          <Form submitLabel={createToken.act} onSubmit={submit} onCancel={close}>
            <Field
              label={createToken.name}
              name="name"
              value={name}
              hint={createToken.nameHint}
              required
            />
            <RoleSelect role={role} roles={["admin", "viewer", "metrics"]} />
            <Select
              label={createToken.expiry}
              value={days.value}
              options={createToken.expiries}
              onChange={(value) => (days.value = value)}
            />
          </Form>
        </Dialog>
      )}
      {createdToken.value !== null && (
        <OneTimeSecret {...newToken} secret={createdToken.value} onClose={close} />
      )}
    </>
  );
}
