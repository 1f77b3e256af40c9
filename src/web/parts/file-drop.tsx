import { useSignal } from "@preact/signals";
import { useId, useLayoutEffect } from "preact/hooks";
import { admin, unwrapReply } from "../api.ts";
import { fileDrop } from "./parts-texts.ts";
import { dropTarget, isDragging, type DropTarget } from "./drop-target.ts";
import { useAction } from "./use-action.ts";
import { Notice } from "./notice.tsx";

interface Props {
  /** Names the file to drop, such as "the policy file". */
  readonly fileDescription: string;
  readonly onText: (text: string) => Promise<void>;
  /** The kinds of dropped files that it receives; the page shows what to do with others. */
  readonly takes: readonly string[];
  /** The button to choose a file is the main one of the screen. */
  readonly isMain?: boolean;
}

/** Larger than any document of a vendor; larger files are not read. */
const MAX_BYTES = 128 * 1024;

/**
 * Receives the text of a file: dropped anywhere on the page, chosen, or pasted. It listens to the
 * whole page, so only one may be on a screen at a time.
 */
export function FileDrop({ fileDescription, onText, takes, isMain = false }: Props) {
  const { busy, wrong, act } = useAction();
  const receiveText = (read: () => Promise<string>): Promise<void> =>
    act(async () => onText(await joinQrFrames(await read())));
  const receiveFiles = (files: Iterable<File> | null | undefined): void => {
    const [file, ...more] = files ?? [];
    if (file === undefined) return;
    void receiveText(async () => {
      if (more.length > 0) throw new Error(fileDrop.onlyOne);
      if (file.size > MAX_BYTES) throw new Error(fileDrop.tooLarge);
      return file.text();
    });
  };
  useDropTarget({
    receive: (file) => receiveFiles([file]),
    takes: (kind) => takes.includes(kind),
  });
  const id = useId();
  return (
    <div class={isDragging.value ? "file-drop over" : "file-drop"} aria-busy={busy.value}>
      <p>{isDragging.value ? fileDrop.dropNow : fileDrop.drop(fileDescription)}</p>
      <label class={isMain ? "button main" : "button"} for={id}>
        {fileDrop.choose}
      </label>
      <input
        id={id}
        class="visually-hidden"
        type="file"
        aria-label={fileDrop.chooseLabel(fileDescription)}
        onChange={({ currentTarget: input }) => {
          receiveFiles(input.files);
          // Otherwise choosing the same file again after a correction would fire no change event.
          input.value = "";
        }}
      />
      <PasteForm
        fileDescription={fileDescription}
        onText={(text) => void receiveText(() => Promise.resolve(text))}
      />
      {wrong.value !== "" && <Notice kind="bad">{wrong.value}</Notice>}
    </div>
  );
}

/** A scanner types several QR codes, one per line: joins them into one text. */
export const joinQrFrames = async (text: string): Promise<string> =>
  /^\s*BERTH\d/m.test(text) ? (await unwrapReply(admin.qr.join.post({ frames: text }))).text : text;

/**
 * Without dependencies, so that the page always calls the newest handlers. A layout effect, so that
 * files are accepted from the moment the place for them is shown.
 */
function useDropTarget(target: DropTarget): void {
  useLayoutEffect(() => {
    dropTarget.value = target;
    return () => {
      if (dropTarget.peek() === target) dropTarget.value = null;
    };
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
        <label class="visually-hidden" for={id}>
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
