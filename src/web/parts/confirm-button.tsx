import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { DialogActions } from "./dialog-actions.tsx";
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
  readonly onConfirm: () => Promise<unknown>;
}

/** Asks for confirmation before it acts. */
export function ConfirmButton({
  actionLabel,
  label,
  title,
  children,
  kind = "danger",
  onConfirm,
}: Props) {
  const isOpen = useSignal(false);
  const confirm = async (): Promise<void> => {
    await onConfirm();
    isOpen.value = false;
  };
  return (
    <>
      <Button
        kind={kind}
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
