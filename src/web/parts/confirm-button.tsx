import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { DialogActions } from "./dialog-actions.tsx";
import { canChange } from "../session.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

interface Props {
  /** The label of the button, and of the confirming button in the dialog. */
  readonly actionLabel: string;
  /** A longer label for screen readers, where several such buttons are on the page. */
  readonly label?: string;
  readonly title: string;
  /** Explains the consequences before the user confirms. */
  readonly children: ComponentChildren;
  readonly kind?: "danger" | "main";
  /** Of the button on the page, if it is one of many; default: as in the dialog. */
  readonly buttonKind?: "plain";
  readonly onConfirm: () => Promise<unknown>;
}

/** Asks for confirmation before it changes something; a viewer does not see it. */
export function ConfirmButton({
  actionLabel,
  label,
  title,
  children,
  kind = "danger",
  buttonKind,
  onConfirm,
}: Props) {
  const isOpen = useSignal(false);
  const confirm = async (): Promise<void> => {
    await onConfirm();
    isOpen.value = false;
  };
  if (!canChange.value) return null;
  return (
    <>
      <Button
        kind={buttonKind ?? kind}
        {...(label !== undefined && { label })}
        onClick={() => void (isOpen.value = true)}
      >
        {actionLabel}
      </Button>
      {isOpen.value && (
        <Dialog title={title} onClose={() => (isOpen.value = false)}>
          {children}
          <DialogActions
            actionLabel={actionLabel}
            kind={kind}
            onConfirm={confirm}
            onCancel={() => (isOpen.value = false)}
          />
        </Dialog>
      )}
    </>
  );
}
