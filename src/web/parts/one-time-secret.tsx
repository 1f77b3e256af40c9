import { oneTimeSecret } from "../texts/parts.ts";
import { Button, CopyButton } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

interface Props {
  readonly title: string;
  /** Where to keep it. */
  readonly text: string;
  readonly secret: string;
  readonly onClose: () => void;
}

/** What nobody can show a second time. */
export const OneTimeSecret = ({ title, text, secret, onClose }: Props) => (
  <Dialog title={title} onClose={onClose}>
    <p>{text}</p>
    <p class="secret">
      <code>{secret}</code>
    </p>
    <div class="row answers">
      <CopyButton text={secret} />
      <Button kind="main" onClick={onClose}>
        {oneTimeSecret.saved}
      </Button>
    </div>
  </Dialog>
);
