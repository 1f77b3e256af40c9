import type { ComponentChildren } from "preact";
import { frame } from "../texts/frame.ts";
import { useAction } from "./use-action.ts";
import { Notice } from "./notice.tsx";

interface Props {
  /** What its button says. */
  readonly submitLabel: string;
  /** Above what the server says when it refuses. */
  readonly wrongTitle?: string;
  readonly onSubmit: () => Promise<unknown>;
  readonly children: ComponentChildren;
}

/** Sent once at a time, by its button or by Enter; a refusal is told above the button. */
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
