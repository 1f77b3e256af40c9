import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { DialogActions } from "./dialog-actions.tsx";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

interface Props {
  /** What the button says, and once more the one that does it. */
  readonly actionLabel: string;
  /** The same for whoever hears it among others of its kind. */
  readonly label?: string;
  readonly title: string;
  /** What it means, before it is done. */
  readonly children: ComponentChildren;
  readonly kind?: "danger" | "main";
  readonly onConfirm: () => Promise<unknown>;
}

/** Asks before it acts. */
export function ConfirmButton({
  actionLabel,
  label,
  title,
  children,
  kind = "danger",
  onConfirm,
}: Props) {
  const asking = useSignal(false);
  const confirm = async (): Promise<void> => {
    await onConfirm();
    asking.value = false;
  };
  return (
    <>
      <Button
        kind={kind}
        {...(label !== undefined && { label })}
        onClick={() => void (asking.value = true)}
      >
        {actionLabel}
      </Button>
      {asking.value && (
        <Dialog title={title} onClose={() => (asking.value = false)}>
          {children}
          <DialogActions
            actionLabel={actionLabel}
            kind={kind}
            onConfirm={confirm}
            onCancel={() => (asking.value = false)}
          />
        </Dialog>
      )}
    </>
  );
}
