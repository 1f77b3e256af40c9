import { signal } from "@preact/signals";
import { useId } from "preact/hooks";
import { Field } from "../parts/field.tsx";
import { token } from "../session.ts";
import { docs } from "../texts/docs.ts";

/** Kept here alone, as the token is. */
export const userName = signal("");
const password = signal("");

/** As UTF-8, which btoa alone does not take. */
export function basicAuthorization(): string {
  const bytes = new TextEncoder().encode(`${userName.value}:${password.value}`);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}

export const BasicFields = () => (
  <>
    <Field label={docs.tryIt.name} value={userName} autocomplete="username" />
    <Field
      label={docs.tryIt.password}
      value={password}
      type="password"
      autocomplete="current-password"
    />
  </>
);

/** The one token of this tab: typed once, good for every call that is tried. */
export function TokenField() {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{docs.tryIt.token}</label>
      <input
        id={id}
        type="password"
        value={token.value ?? ""}
        autocomplete="off"
        aria-describedby={`${id}-hint`}
        onInput={({ currentTarget: { value } }) => (token.value = value.trim() || null)}
      />
      <p class="hint" id={`${id}-hint`}>
        {docs.tryIt.tokenHint}
      </p>
    </div>
  );
}
