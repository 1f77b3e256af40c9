import { signal } from "@preact/signals";
import { useId } from "preact/hooks";
import { Field } from "../parts/field.tsx";
import { session, token } from "../session.ts";
import { docs } from "./docs-texts.ts";

/** Held in memory only, like the token. */
export const userName = signal("");
const password = signal("");

/** btoa takes Latin-1 only: encodes as UTF-8 first. */
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

/** The token of this tab: its session, or one that is entered once and used for every request. */
export function TokenField() {
  const id = useId();
  const isSession = session.value !== null && session.value.token === token.value;
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
        {isSession ? docs.tryIt.sessionHint(session.value?.name ?? "") : docs.tryIt.tokenHint}
      </p>
    </div>
  );
}
