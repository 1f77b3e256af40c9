import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { saveText } from "../save.ts";
import { frame } from "./common-texts.ts";
import { documentTransfer } from "./parts-texts.ts";
import { Button, CopyButton } from "./button.tsx";
import { QrCodes } from "./qr-codes.tsx";

interface Props {
  readonly text: string;
  readonly filename: string;
  /** The page shows the text already. */
  readonly isTextVisible?: boolean;
  /** More buttons. */
  readonly children?: ComponentChildren;
}

/** Ways to take a document out: as a file, by the clipboard, or as QR codes. */
export function DocumentTransfer({ text, filename, isTextVisible = false, children }: Props) {
  const isQrShown = useSignal(false);
  return (
    <div class="document-transfer">
      <div class="row">
        <Button onClick={() => saveText(`${text}\n`, filename)}>{frame.save}</Button>
        <CopyButton text={text} />
        <Button onClick={() => void (isQrShown.value = !isQrShown.value)}>
          {isQrShown.value ? documentTransfer.hideQr : documentTransfer.showQr}
        </Button>
        {children}
      </div>
      {isQrShown.value && <QrCodes text={text} />}
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
