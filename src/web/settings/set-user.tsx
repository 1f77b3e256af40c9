import { useSignal } from "@preact/signals";
import { admin, unwrapReply } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { Select } from "../parts/select.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { Form } from "../parts/form.tsx";
import { settings } from "../texts/settings.ts";

const { access } = settings;
const { setUser } = access;

interface Props {
  /** Left out: somebody new. */
  readonly user?: { readonly name: string; readonly role: string };
  readonly reload: () => Promise<void>;
}

/** Somebody new, or a new password for somebody known. */
export function SetUser({ user, reload }: Props) {
  const asking = useSignal(false);
  const name = useSignal("");
  const role = useSignal("");
  const password = useSignal("");
  const open = (): void => {
    name.value = user?.name ?? "";
    role.value = user?.role ?? "admin";
    password.value = "";
    asking.value = true;
  };
  const submit = async (): Promise<void> => {
    const body = { name: name.value, role: role.value, password: password.value };
    await unwrapReply(admin.access.users.post(body));
    asking.value = false;
    await reload();
  };
  return (
    <>
      {user === undefined ? (
        <Button kind="main" onClick={open}>
          {setUser.add}
        </Button>
      ) : (
        <Button onClick={open} label={setUser.changeLabel(user.name)}>
          {setUser.change}
        </Button>
      )}
      {asking.value && (
        <Dialog
          title={user === undefined ? setUser.title : setUser.titleOf(user.name)}
          onClose={() => (asking.value = false)}
        >
          <Form submitLabel={setUser.act} onSubmit={submit}>
            {user === undefined && (
              <Field label={access.name} value={name} autocomplete="off" required />
            )}
            <Select
              label={access.role}
              value={role.value}
              options={Object.entries(access.roles)}
              onChange={(chosen) => (role.value = chosen)}
            />
            <Field
              label={setUser.password}
              type="password"
              value={password}
              hint={setUser.passwordHint}
              autocomplete="new-password"
              required
            />
            {user !== undefined && <p class="quiet">{setUser.sessionsEnd}</p>}
          </Form>
        </Dialog>
      )}
    </>
  );
}
