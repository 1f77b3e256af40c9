import { effect, signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { errorMessageOf } from "../api.ts";
import { berthCommand } from "../commands.ts";
import { Button } from "../parts/button.tsx";
import { Command } from "../parts/command.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { dropTarget, isDragging } from "../parts/drop-target.ts";
import { joinQrFrames } from "../parts/file-drop.tsx";
import { linkTo } from "../router.ts";
import { accessState, canChange } from "../session.ts";
import { DroppedDocument } from "./dropped-document.tsx";
import { recognizeFile, recognizeText, type DroppedFile } from "./dropped-file.ts";
import { droppedKinds, pageDrop as texts } from "./page-drop-texts.ts";

/** What is shown about a dropped file: a document to use, or a text that says what to do. */
type Shown = DroppedFile | { readonly kind: "message"; readonly message: string };

const shown = signal<Shown | null>(null);

// A session that ends, or another one that begins, must not find the dialog of the one before.
effect(() => {
  void accessState.value;
  shown.value = null;
});

/** Receives a file that is dropped anywhere, on every view and before signing in. */
export function PageDrop() {
  useEffect(() => {
    const stop = new AbortController();
    for (const name of ["dragenter", "dragover", "dragleave"] as const)
      addEventListener(name, onDrag, stop);
    addEventListener("drop", onDrop, stop);
    return () => stop.abort();
  }, []);
  const isOverPage = isDragging.value && dropTarget.value === null;
  const close = (): void => {
    shown.value = null;
  };
  return (
    <>
      {isOverPage && (
        <p class="page-drop" role="status">
          {accessState.value === "open" ? texts.drop : texts.signIn}
        </p>
      )}
      {shown.value !== null && (
        <DroppedDialog key={shown.value} dropped={shown.value} onClose={close} />
      )}
    </>
  );
}

const hasFiles = ({ dataTransfer }: DragEvent): boolean =>
  dataTransfer?.types.includes("Files") === true;

function onDrag(event: DragEvent): void {
  if (!hasFiles(event)) return;
  // Without this the browser would open the file instead of dropping it.
  event.preventDefault();
  isDragging.value = event.type !== "dragleave" || event.relatedTarget !== null;
}

function onDrop(event: DragEvent): void {
  if (!hasFiles(event)) return;
  event.preventDefault();
  isDragging.value = false;
  void receive([...(event.dataTransfer?.files ?? [])]);
}

async function receive([file, ...more]: readonly File[]): Promise<void> {
  if (accessState.value !== "open") return showMessage(texts.signIn);
  if (!canChange.value) return showMessage(texts.viewer);
  if (file === undefined) return;
  if (more.length > 0) return showMessage(texts.onlyOne);
  const target = dropTarget.value;
  try {
    const dropped = await recognizeFile(file);
    if (target?.takes(dropped.kind) === true) return target.receive(file);
    shown.value = dropped.kind === "qr" ? recognizeText(await joinQrFrames(dropped.text)) : dropped;
  } catch (error) {
    showMessage(errorMessageOf(error));
  }
}

function showMessage(message: string): void {
  shown.value = { kind: "message", message };
}

function DroppedDialog({ dropped, onClose }: { dropped: Shown; onClose: () => void }) {
  switch (dropped.kind) {
    case "license":
    case "trust":
    case "time":
    case "ack":
    case "text":
    case "qr":
      return <DroppedDocument kind={dropped.kind} text={dropped.text} onClose={onClose} />;
    case "message":
      return <MessageDialog message={dropped.message} onClose={onClose} />;
    default:
      return (
        <MessageDialog message={droppedKinds[dropped.kind]} onClose={onClose}>
          {dropped.kind === "backup" && <Command text={berthCommand("restore FILE")} />}
          {dropped.kind === "policy" && (
            <p>
              <a href={linkTo("licenses", "air-gap")} onClick={onClose}>
                {texts.openAirGap}
              </a>
            </p>
          )}
        </MessageDialog>
      );
  }
}

interface MessageDialogProps {
  readonly message: string;
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
}

const MessageDialog = ({ message, onClose, children }: MessageDialogProps) => (
  <Dialog title={texts.title} onClose={onClose}>
    <p>{message}</p>
    {children}
    <div class="row actions">
      <Button kind="main" onClick={onClose}>
        {texts.close}
      </Button>
    </div>
  </Dialog>
);
