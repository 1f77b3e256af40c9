import { oneTimeSecret } from "./parts-texts.ts";
import { Button, CopyButton } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

interface Props {
  readonly title: string;
  /** Says where to keep the secret. */
  readonly text: string;
  readonly secret: string;
  readonly onClose: () => void;
}

/** Shows a secret that the server cannot show again. */
export const OneTimeSecret = ({ title, text, secret, onClose }: Props) => (
  <Dialog title={title} onClose={onClose}>
    <p>{text}</p>
    <p class="secret">
      <code>{secret}</code>
    </p>
    <div class="row actions">
      <CopyButton text={secret} />
      <Button kind="main" onClick={onClose}>
        {oneTimeSecret.saved}
      </Button>
    </div>
  </Dialog>
);
