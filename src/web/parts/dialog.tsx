import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { frame } from "../texts/frame.ts";

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Over everything else until it is answered; Escape and the browser's back do what they should. */
export function Dialog({ title, onClose, children }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    ref.current?.showModal();
    // One that is taken away instead of closed would leave the keyboard nowhere.
    return () => {
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
