import { useSignal } from "@preact/signals";
import { admin, unwrapReply } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { Select } from "../parts/select.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { Form } from "../parts/form.tsx";
import { settings } from "./settings-texts.ts";

const { access } = settings;
const { setUser } = access;

interface Props {
  /** Absent: a new user. */
  readonly user?: { readonly name: string; readonly role: string };
  readonly reload: () => Promise<void>;
}

/** Adds a user, or sets a new password for one. */
export function SetUser({ user, reload }: Props) {
  const isOpen = useSignal(false);
  const name = useSignal("");
  const role = useSignal("");
  const password = useSignal("");
  const open = (): void => {
    name.value = user?.name ?? "";
    role.value = user?.role ?? "admin";
    password.value = "";
    isOpen.value = true;
  };
  const submit = async (): Promise<void> => {
    const body = { name: name.value, role: role.value, password: password.value };
    await unwrapReply(admin.access.users.post(body));
    isOpen.value = false;
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
      {isOpen.value && (
        <Dialog
          title={user === undefined ? setUser.title : setUser.titleOf(user.name)}
          onClose={() => (isOpen.value = false)}
        >
          <Form submitLabel={setUser.act} onSubmit={submit}>
            {user === undefined && (
              <Field label={access.name} value={name} autocomplete="off" required />
            )}
            <Select
              label={access.role}
              value={role.value}
              options={Object.entries(access.roles)}
              onChange={(newRole) => (role.value = newRole)}
            />
            <Field
              label={setUser.password}
              type="password"
              value={password}
              hint={setUser.passwordHint}
              autocomplete="new-password"
              required
            />
            {user !== undefined && <p class="muted">{setUser.sessionsEnd}</p>}
          </Form>
        </Dialog>
      )}
    </>
  );
}
