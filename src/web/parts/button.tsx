import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { frame } from "./common-texts.ts";
import { useAction } from "./use-action.ts";
import { Notice } from "./notice.tsx";

interface Props {
  readonly children: ComponentChildren;
  readonly onClick: () => void | Promise<unknown>;
  readonly kind?: "main" | "plain" | "danger";
  readonly disabled?: boolean;
  readonly label?: string;
}

/** Runs its action once at a time and shows an error beside the button. */
export function Button({ children, onClick, kind = "plain", disabled = false, label }: Props) {
  const { busy, wrong, wrongKind, act } = useAction();
  return (
    <>
      <button
        type="button"
        class={`button ${kind}`}
        disabled={disabled || busy.value}
        aria-busy={busy.value}
        aria-label={label}
        onClick={() => void act(onClick)}
      >
        {children}
      </button>
      {wrong.value !== "" && <Notice kind={wrongKind.value}>{wrong.value}</Notice>}
    </>
  );
}

interface CopyProps {
  /** A function, if the text is long: it is called only when the button is pressed. */
  readonly text: string | (() => string);
  readonly children?: ComponentChildren;
}

/** Copies a text to the clipboard. */
export function CopyButton({ text, children }: CopyProps) {
  const copied = useSignal(false);
  const copy = async (): Promise<void> => {
    await copyToClipboard(typeof text === "string" ? text : text());
    copied.value = true;
    setTimeout(() => (copied.value = false), 2_000);
  };
  return <Button onClick={copy}>{copied.value ? frame.copied : (children ?? frame.copy)}</Button>;
}

/** Over plain HTTP, browsers have no clipboard API for scripts; `execCommand` still works there. */
async function copyToClipboard(text: string): Promise<void> {
  if (isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (!isCopied) throw new Error("The browser did not allow copying: select the text and copy it.");
}
