import { useId } from "preact/hooks";
import { Notice } from "../parts/notice.tsx";
import { useAction } from "../parts/use-action.ts";
import { rules } from "./rules-texts.ts";

/** The most that rules may have; larger files are not read. */
const MAX_BYTES = 1_048_576;

interface FileButtonProps {
  readonly label: string;
  readonly longLabel: string;
  readonly onText: (text: string) => void;
}

/** Reads a file that the reader chooses. */
export function FileButton({ label, longLabel, onText }: FileButtonProps) {
  const id = useId();
  const { wrong, act } = useAction();
  const receive = (file: File | undefined): void => {
    if (file === undefined) return;
    void act(async () => {
      if (file.size > MAX_BYTES) throw new Error(rules.tooLarge);
      onText(decodeText(await file.arrayBuffer()));
    });
  };
  return (
    <span class="file-button">
      <label class="button" for={id}>
        {label}
      </label>
      <input
        id={id}
        class="visually-hidden"
        type="file"
        aria-label={longLabel}
        onChange={({ currentTarget: input }) => {
          receive(input.files?.[0]);
          // Otherwise choosing the same file again would fire no change event.
          input.value = "";
        }}
      />
      {wrong.value !== "" && <Notice kind="bad">{wrong.value}</Notice>}
    </span>
  );
}

/** Refuses other encodings: names with wrong characters would match no user. */
function decodeText(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error(rules.notUtf8);
  }
}
