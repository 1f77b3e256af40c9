import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { frame } from "./common-texts.ts";

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A dialog that opens within this time after another one closed takes over its focus return. */
const FOCUS_RETURN_TIME = 1_000;

/** The element that had the focus before the last dialog; the focus may not be back there yet. */
let focusToRestore: Element | null = null;

/** A modal dialog; Escape and, where supported, the browser's back gesture close it. */
export function Dialog({ title, onClose, children }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const { activeElement, body } = document;
    const before = activeElement === body ? focusToRestore : activeElement;
    ref.current?.showModal();
    // A dialog that is removed instead of closed does not restore the focus by itself.
    return () => {
      focusToRestore = before;
      setTimeout(() => (focusToRestore = null), FOCUS_RETURN_TIME);
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
