import { frame } from "../texts/frame.ts";
import { Button } from "./button.tsx";

interface Props {
  readonly actionLabel: string;
  readonly kind: "main" | "danger";
  readonly onConfirm: () => Promise<unknown>;
  readonly onCancel: () => void;
}

/** At the foot of a question: no, or what was asked. */
export const DialogActions = ({ actionLabel, kind, onConfirm, onCancel }: Props) => (
  <div class="row answers">
    <Button onClick={onCancel}>{frame.cancel}</Button>
    <Button kind={kind} onClick={onConfirm}>
      {actionLabel}
    </Button>
  </div>
);
