import type { ComponentChildren } from "preact";
import { frame } from "./common-texts.ts";
import { useAction } from "./use-action.ts";
import { Notice } from "./notice.tsx";

interface Props {
  /** The label of the submit button. */
  readonly submitLabel: string;
  /** The title above the server's error message. */
  readonly wrongTitle?: string;
  readonly onSubmit: () => Promise<unknown>;
  readonly children: ComponentChildren;
}

/** Submits once at a time and shows an error above the button. */
export function Form({ submitLabel, wrongTitle, onSubmit, children }: Props) {
  const { busy, wrong, act: send } = useAction();
  const submit = (event: Event): void => {
    event.preventDefault();
    void send(onSubmit);
  };
  return (
    <form onSubmit={submit}>
      {children}
      {wrong.value !== "" && (
        <Notice kind="bad" {...(wrongTitle !== undefined && { title: wrongTitle })}>
          {wrong.value}
        </Notice>
      )}
      <button type="submit" class="button main" disabled={busy.value} aria-busy={busy.value}>
        {busy.value ? frame.loading : submitLabel}
      </button>
    </form>
  );
}
