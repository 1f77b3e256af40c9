import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { frame } from "../texts/frame.ts";

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** For how long a dialog may follow another one. */
const FOCUS_RETURN_TIME = 1_000;

/** Where the keyboard was before the dialog that went last; it may not be back there yet. */
let returning: Element | null = null;

/** Over everything else until it is answered; Escape and the browser's back do what they should. */
export function Dialog({ title, onClose, children }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const { activeElement, body } = document;
    const before = activeElement === body ? returning : activeElement;
    ref.current?.showModal();
    // One that is taken away instead of closed would leave the keyboard nowhere.
    return () => {
      returning = before;
      setTimeout(() => (returning = null), FOCUS_RETURN_TIME);
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={ref} aria-labelledby={id} onClose={onClose}>
      <header>
        <h2 id={id}>{title}</h2>
        <button
          type="button"
          class="button close"
          aria-label={frame.close}
          onClick={() => ref.current?.close()}
        >
          ×
        </button>
      </header>
      {children}
    </dialog>
  );
}
