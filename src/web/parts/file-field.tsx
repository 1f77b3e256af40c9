import { useId } from "preact/hooks";

interface Props {
  readonly label: string;
  readonly hint?: string;
  /** Endings to offer first, such as ".jwt". */
  readonly accept?: string;
  readonly onText: (text: string) => void;
}

/** More than any document that crosses the gap. */
const MOST = 256 * 1024;

/** A file whose text is wanted. */
export function FileField({ label, hint, accept, onText }: Props) {
  const id = useId();
  const read = async (input: HTMLInputElement): Promise<void> => {
    const file = input.files?.[0];
    if (file !== undefined) onText(await file.slice(0, MOST).text());
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="file"
        accept={accept}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        // The same one can be chosen again, after it was changed.
        onClick={(event) => (event.currentTarget.value = "")}
        onChange={(event) => void read(event.currentTarget)}
      />
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}
