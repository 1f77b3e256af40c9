import { frame } from "./common-texts.ts";
import { Button } from "./button.tsx";

interface Props {
  readonly actionLabel: string;
  readonly kind: "main" | "danger";
  readonly onConfirm: () => Promise<unknown>;
  readonly onCancel: () => void;
}

/** The buttons at the end of a confirmation dialog: cancel, then the action, as in a form. */
export const DialogActions = ({ actionLabel, kind, onConfirm, onCancel }: Props) => (
  <div class="row actions">
    <Button onClick={onCancel}>{frame.cancel}</Button>
    <Button kind={kind} onClick={onConfirm}>
      {actionLabel}
    </Button>
  </div>
);
