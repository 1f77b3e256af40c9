import { frame } from "../texts/frame.ts";
import { Button } from "./button.tsx";

interface Props {
  readonly act: string;
  readonly kind: "main" | "danger";
  readonly onAct: () => Promise<unknown>;
  readonly onCancel: () => void;
}

/** At the foot of a question: no, or what was asked. */
export const Answers = ({ act, kind, onAct, onCancel }: Props) => (
  <div class="row answers">
    <Button onClick={onCancel}>{frame.cancel}</Button>
    <Button kind={kind} onClick={onAct}>
      {act}
    </Button>
  </div>
);
