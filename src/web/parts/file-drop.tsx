import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import { admin, unwrapReply } from "../api.ts";
import { fileDrop } from "../texts/parts.ts";
import { useAction } from "./use-action.ts";
import { Notice } from "./notice.tsx";

interface Props {
  /** What is wanted, in a word or two. */
  readonly fileDescription: string;
  readonly onText: (text: string) => Promise<void>;
}

/** More than any text from a vendor has; nothing larger is even read. */
const MAX_BYTES = 128 * 1024;

/**
 * Takes a file's text: dropped anywhere on the page while this is shown, chosen, or pasted. One of
 * these is on a screen at a time.
 */
export function FileDrop({ fileDescription, onText }: Props) {
  const over = useSignal(false);
  const { busy, wrong, act } = useAction();
  const take = (read: () => Promise<string>): Promise<void> =>
    act(async () => onText(await joinQrFrames(await read())));
  const takeFiles = (files: FileList | null | undefined): void => {
    const [file, ...more] = files ?? [];
    if (file === undefined) return;
    void take(async () => {
      if (more.length > 0) throw new Error(fileDrop.onlyOne);
      if (file.size > MAX_BYTES) throw new Error(fileDrop.tooLarge);
      return file.text();
    });
  };
  usePageDrop(
    (dragging) => (over.value = dragging),
    (files) => takeFiles(files),
  );
  const id = useId();
  return (
    <div class={over.value ? "file-drop over" : "file-drop"} aria-busy={busy.value}>
      <p>{over.value ? fileDrop.dropNow : fileDrop.drop(fileDescription)}</p>
      <label class="button main" for={id}>
        {fileDrop.choose}
      </label>
      <input
        id={id}
        class="unseen"
        type="file"
        aria-label={fileDrop.chooseLabel(fileDescription)}
        onChange={({ currentTarget: input }) => {
          takeFiles(input.files);
          // Else the same file, mended and chosen again, would not count as a change.
          input.value = "";
        }}
      />
      <PasteForm
        fileDescription={fileDescription}
        onText={(text) => void take(() => Promise.resolve(text))}
      />
      {wrong.value !== "" && <Notice kind="bad">{wrong.value}</Notice>}
    </div>
  );
}

/** What a scanner read of several QR codes, a code a line, is one text again. */
const joinQrFrames = async (text: string): Promise<string> =>
  /^\s*BERTH\d/m.test(text) ? (await unwrapReply(admin.qr.join.post({ frames: text }))).text : text;

/** The newest handlers are asked for at each event, so that the listeners can stay. */
function usePageDrop(onDrag: (dragging: boolean) => void, onDrop: (files: FileList) => void) {
  useEffect(() => {
    const drag = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes("Files") !== true) return;
      event.preventDefault();
      onDrag(event.type !== "dragleave" || event.relatedTarget !== null);
    };
    const drop = (event: DragEvent): void => {
      if (event.dataTransfer === null || event.dataTransfer.files.length === 0) return;
      event.preventDefault();
      onDrag(false);
      onDrop(event.dataTransfer.files);
    };
    const stop = new AbortController();
    for (const name of ["dragenter", "dragover", "dragleave"] as const) {
      addEventListener(name, drag, stop);
    }
    addEventListener("drop", drop, stop);
    return () => stop.abort();
  });
}

function PasteForm({
  fileDescription,
  onText,
}: {
  fileDescription: string;
  onText: (text: string) => void;
}) {
  const text = useSignal("");
  const id = useId();
  const submit = (event: Event): void => {
    event.preventDefault();
    if (text.value.trim() === "") return;
    onText(text.value);
    text.value = "";
  };
  return (
    <details>
      <summary>{fileDrop.paste}</summary>
      <form onSubmit={submit}>
        <label class="unseen" for={id}>
          {fileDrop.textLabel(fileDescription)}
        </label>
        <textarea
          id={id}
          rows={4}
          spellcheck={false}
          autocomplete="off"
          aria-describedby={`${id}-scan`}
          value={text.value}
          onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        />
        <p class="hint" id={`${id}-scan`}>
          {fileDrop.scan}
        </p>
        <button type="submit" class="button">
          {fileDrop.submitText}
        </button>
      </form>
    </details>
  );
}
