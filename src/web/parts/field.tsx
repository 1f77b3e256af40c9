import type { Signal } from "@preact/signals";
import { useId } from "preact/hooks";

interface Props {
  readonly label: string;
  readonly value: Signal<string>;
  readonly hint?: string;
  readonly type?: "text" | "password" | "search";
  readonly autocomplete?: string;
  readonly required?: boolean;
  readonly error?: string;
}

/** A line to type into, with its name above and what helps below. */
export function Field({ label, value, hint, type = "text", required, autocomplete, error }: Props) {
  const id = useId();
  // Each kind of input has a type of its own in Preact; nothing here hangs on which it is.
  const kind = { type } as { readonly type: "text" };
  const described = hint !== undefined || error !== undefined;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        {...kind}
        value={value.value}
        required={required}
        autocomplete={autocomplete ?? "off"}
        spellcheck={false}
        aria-describedby={described ? `${id}-hint` : undefined}
        aria-invalid={error !== undefined}
        onInput={(event) => (value.value = event.currentTarget.value)}
      />
      {described && (
        <p class={error === undefined ? "hint" : "hint bad"} id={`${id}-hint`}>
          {error ?? hint}
        </p>
      )}
    </div>
  );
}
