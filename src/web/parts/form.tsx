import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { sentenceOf } from "../api.ts";
import { frame } from "../texts/frame.ts";
import { Notice } from "./notice.tsx";

interface Props {
  /** What its button says. */
  readonly act: string;
  /** Above what the server says when it refuses. */
  readonly wrongTitle?: string;
  readonly onSubmit: () => Promise<unknown>;
  readonly children: ComponentChildren;
}

/** Sent once at a time, by its button or by Enter; a refusal is told above the button. */
export function Form({ act, wrongTitle, onSubmit, children }: Props) {
  const busy = useSignal(false);
  const wrong = useSignal("");
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (busy.value) return;
    busy.value = true;
    wrong.value = "";
    try {
      await onSubmit();
    } catch (error) {
      wrong.value = sentenceOf(error);
    } finally {
      busy.value = false;
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      {children}
      {wrong.value !== "" && (
        <Notice kind="bad" {...(wrongTitle !== undefined && { title: wrongTitle })}>
          {wrong.value}
        </Notice>
      )}
      <button type="submit" class="button main" disabled={busy.value} aria-busy={busy.value}>
        {busy.value ? frame.loading : act}
      </button>
    </form>
  );
}
