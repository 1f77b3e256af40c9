import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import { useFieldError } from "./form-error.ts";

interface Props {
  readonly label: string;
  /** A signal, or what passes on a text that is typed. */
  readonly value: { value: string };
  /** The name of the field in the request: an error of the server that names it is shown here. */
  readonly name?: string;
  readonly hint?: string;
  readonly type?: "text" | "password" | "search" | "number" | "date";
  readonly autocomplete?: string;
  readonly required?: boolean;
  readonly error?: string;
  /** Takes the focus when it appears. */
  readonly hasFocus?: boolean;
}

/** A text input with its label above, and a hint or an error below. */
export function Field({ label, value, name, hint, type = "text", ...props }: Props) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const { message, clear } = useFieldError(name, label);
  const error = props.error ?? message;
  // The server refused this field: that is where the reader continues.
  useLayoutEffect(() => {
    if (message !== undefined) input.current?.focus();
  }, [message]);
  useEffect(() => {
    if (props.hasFocus === true) input.current?.focus();
  }, []);
  // Preact has one type per kind of input; this component treats all kinds alike.
  const kind = { type } as { readonly type: "text" };
  const note = error ?? hint;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        ref={input}
        id={id}
        {...kind}
        value={value.value}
        required={props.required}
        autocomplete={props.autocomplete ?? "off"}
        spellcheck={false}
        aria-describedby={note === undefined ? undefined : `${id}-hint`}
        aria-invalid={error !== undefined}
        onInput={(event) => {
          value.value = event.currentTarget.value;
          clear();
        }}
      />
      {note !== undefined && (
        <p
          class={error === undefined ? "hint" : "hint bad"}
          id={`${id}-hint`}
          role={message === undefined ? undefined : "alert"}
        >
          {note}
        </p>
      )}
    </div>
  );
}
