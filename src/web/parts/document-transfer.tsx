import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { saveText } from "../save.ts";
import { frame } from "../texts/frame.ts";
import { documentTransfer } from "../texts/parts.ts";
import { Button, CopyButton } from "./button.tsx";
import { QrCodes } from "./qr-codes.tsx";

interface Props {
  readonly text: string;
  readonly filename: string;
  /** It stands beside this already. */
  readonly isTextVisible?: boolean;
  /** More to do with it. */
  readonly children?: ComponentChildren;
}

/** A text for somebody to carry on: as a file, by the clipboard, by a camera. */
export function DocumentTransfer({ text, filename, isTextVisible = false, children }: Props) {
  const qr = useSignal(false);
  return (
    <div class="hand-over">
      <div class="row">
        <Button kind="main" onClick={() => saveText(`${text}\n`, filename)}>
          {frame.save}
        </Button>
        <CopyButton text={text} />
        <Button onClick={() => void (qr.value = !qr.value)}>
          {qr.value ? documentTransfer.hideQr : documentTransfer.showQr}
        </Button>
        {children}
      </div>
      {qr.value && <QrCodes text={text} />}
      {!isTextVisible && (
        <details>
          <summary>{documentTransfer.text}</summary>
          <p class="secret">
            <code>{text}</code>
          </p>
        </details>
      )}
    </div>
  );
}
