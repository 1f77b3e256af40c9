import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { canChange } from "../session.ts";
import { frame } from "./common-texts.ts";
import { FormErrorContext } from "./form-error.ts";
import { Notice } from "./notice.tsx";
import { useAction } from "./use-action.ts";

interface Props {
  /** The label of the submit button. */
  readonly submitLabel: string;
  /** "plain": another form on the screen has the main button. */
  readonly submitKind?: "main" | "plain";
  readonly onSubmit: () => Promise<unknown>;
  /** Leaves the form without a change. */
  readonly onCancel?: () => void;
  /** The label of that button; default: Cancel. */
  readonly cancelLabel?: string;
  readonly children: ComponentChildren;
}

/**
 * Submits once at a time. An error that names a field of the form is shown beside that field, any
 * other one above the buttons. A viewer can read the fields, but not submit them.
 */
export function Form({
  submitLabel,
  submitKind = "main",
  onSubmit,
  onCancel,
  cancelLabel = frame.cancel,
  children,
}: Props) {
  const { busy, wrong, wrongKind, wrongField, act: send } = useAction();
  const formError = useMemo(() => ({ wrong, wrongField, names: new Set<string>() }), []);
  const submit = (event: Event): void => {
    event.preventDefault();
    void send(onSubmit);
  };
  const cancel = (): void => {
    wrong.value = "";
    wrongField.value = null;
    onCancel?.();
  };
  const isBesideField = wrongField.value !== null && formError.names.has(wrongField.value);
  return (
    <form class="form" onSubmit={submit}>
      <FormErrorContext.Provider value={formError}>{children}</FormErrorContext.Provider>
      {wrong.value !== "" && !isBesideField && (
        <Notice kind={wrongKind.value}>{wrong.value}</Notice>
      )}
      {canChange.value ? (
        <div class="row actions">
          {onCancel && (
            <button type="button" class="button" onClick={cancel}>
              {cancelLabel}
            </button>
          )}
          <button
            type="submit"
            class={`button ${submitKind}`}
            disabled={busy.value}
            aria-busy={busy.value}
          >
            {busy.value ? frame.loading : submitLabel}
          </button>
        </div>
      ) : (
        <p class="hint">{frame.viewer}</p>
      )}
    </form>
  );
}
