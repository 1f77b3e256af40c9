import { useSignal } from "@preact/signals";
import { admin, unwrapReply } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { Form } from "../parts/form.tsx";
import { access } from "./access-texts.ts";
import { RoleSelect } from "./role-select.tsx";

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
    role.value = user?.role ?? "user";
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
        <Button onClick={open}>{setUser.add}</Button>
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
          <Form submitLabel={setUser.act} onSubmit={submit} onCancel={() => (isOpen.value = false)}>
            {user === undefined && (
              <Field label={access.name} name="name" value={name} autocomplete="off" required />
            )}
            <RoleSelect role={role} roles={["user", "viewer", "admin"]} />
            <Field
              label={setUser.password}
              name="password"
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
