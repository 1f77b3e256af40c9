import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { frame } from "./common-texts.ts";

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** What had the focus outside of any dialog when the last dialog was made. */
let focusedBefore: Element | null = null;

/**
 * Where the focus returns to. A dialog that replaces another one returns it to where that one would
 * have: at that moment the focus may be in the other dialog, or nowhere.
 */
function findFocusReturn(): Element | null {
  const { activeElement, body } = document;
  if (activeElement !== body && activeElement?.closest("dialog") === null) {
    focusedBefore = activeElement;
  }
  return focusedBefore;
}

/** A modal dialog; Escape and, where supported, the browser's back gesture close it. */
export function Dialog({ title, onClose, children }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  // While rendering: opening the dialog moves the focus.
  const focusReturn = useState(findFocusReturn)[0];
  useLayoutEffect(() => ref.current?.showModal(), []);
  // A dialog that is removed instead of closed does not restore the focus by itself. A plain effect
  // is cleaned up after the removal: before it, nothing outside the dialog can get the focus.
  useEffect(
    () => () => {
      if (focusReturn instanceof HTMLElement) focusReturn.focus();
    },
    [],
  );
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
