import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { frame } from "../texts/frame.ts";
import { useAction } from "./use-action.ts";
import { Notice } from "./notice.tsx";

interface Props {
  readonly children: ComponentChildren;
  readonly onClick: () => void | Promise<unknown>;
  readonly kind?: "main" | "plain" | "danger";
  readonly disabled?: boolean;
  readonly label?: string;
}

/** Does its work once at a time, and says beside it what went wrong. */
export function Button({ children, onClick, kind = "plain", disabled = false, label }: Props) {
  const { busy, wrong, act } = useAction();
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
      {wrong.value !== "" && <Notice kind="bad">{wrong.value}</Notice>}
    </>
  );
}

interface CopyProps {
  /** A long one is written when it is asked for. */
  readonly text: string | (() => string);
  readonly children?: ComponentChildren;
}

/** Puts a text where it can be pasted from. */
export function CopyButton({ text, children }: CopyProps) {
  const copied = useSignal(false);
  const copy = async (): Promise<void> => {
    await copyToClipboard(typeof text === "string" ? text : text());
    copied.value = true;
    setTimeout(() => (copied.value = false), 2_000);
  };
  return <Button onClick={copy}>{copied.value ? frame.copied : (children ?? frame.copy)}</Button>;
}

/** At a plain address a browser has no clipboard for scripts; the old way still works there. */
async function copyToClipboard(text: string): Promise<void> {
  if (isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("This browser did not let it be copied: select it and copy by hand.");
}
