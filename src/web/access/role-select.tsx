import type { Signal } from "@preact/signals";
import { Select } from "../parts/select.tsx";
import { access } from "./access-texts.ts";

type Role = keyof typeof access.roles;

interface Props {
  readonly role: Signal<string>;
  readonly roles: readonly Role[];
}

/** Chooses a role, and says what it may do. */
export const RoleSelect = ({ role, roles }: Props) => (
  <Select
    label={access.role}
    value={role.value}
    options={roles.map((option) => [option, access.roles[option]])}
    onChange={(value) => (role.value = value)}
    hint={access.roleHints[role.value as Role]}
  />
);
