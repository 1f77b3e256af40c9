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

/** A text input with its label above and a hint below. */
export function Field({ label, value, hint, type = "text", required, autocomplete, error }: Props) {
  const id = useId();
  // Preact has one type per kind of input; this component treats all kinds alike.
  const kind = { type } as { readonly type: "text" };
  const hasHint = hint !== undefined || error !== undefined;
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
        aria-describedby={hasHint ? `${id}-hint` : undefined}
        aria-invalid={error !== undefined}
        onInput={(event) => (value.value = event.currentTarget.value)}
      />
      {hasHint && (
        <p class={error === undefined ? "hint" : "hint bad"} id={`${id}-hint`}>
          {error ?? hint}
        </p>
      )}
    </div>
  );
}
