import type { Signal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import { checkCodeRows, codeRowSizes, type CodeRowStatus } from "../../../license/code.ts";
import { codeEntry } from "../../texts/air-gap.ts";
import { countSymbols, pasteCode, typeIntoRow, type CodeInput } from "./code-input.ts";

interface Props {
  readonly label: string;
  readonly bits: number;
  readonly rows: Signal<readonly string[]>;
  /** Enter, once every row is right. */
  readonly onComplete?: () => void;
}

/** A code to type as it is read out, each row checked by the server's own rule once it is full. */
export function CodeEntry({ label, bits, rows, onComplete }: Props) {
  const lines = useRef<(HTMLInputElement | null)[]>([]);
  const sizes = codeRowSizes(bits);
  const marks = checkCodeRows(rows.value, bits);
  const id = useId();

  const show = ({ rows: typed, at }: CodeInput): void => {
    rows.value = typed;
    // At once: a scanner's next key must find its row.
    for (const [index, line] of lines.current.entries()) {
      const value = typed[index] ?? "";
      if (line !== null && line.value !== value) line.value = value;
    }
    lines.current[at]?.focus();
  };
  const onInput = (row: number, line: HTMLInputElement): void => {
    const atEnd = line.selectionStart === line.value.length;
    show(typeIntoRow(rows.value, row, line.value, bits, atEnd));
  };
  const onPaste = (row: number, event: ClipboardEvent): void => {
    const pasted = pasteCode(rows.value, row, event.clipboardData?.getData("text") ?? "", bits);
    if (pasted === null) return;
    event.preventDefault();
    show(pasted);
  };
  const onKeyDown = (row: number, event: KeyboardEvent): void => {
    if (event.key === "Backspace" && rows.value[row] === "" && row > 0) {
      event.preventDefault();
      lines.current[row - 1]?.focus();
    }
    if (event.key !== "Enter") return;
    event.preventDefault();
    const now = checkCodeRows(rows.value, bits);
    if (now.every((mark) => mark === "right")) onComplete?.();
    // Of a row that is just begun, it is the end of the line before: scanners send one.
    else if (now[row] !== "short") lines.current[row + 1]?.focus();
  };

  return (
    <fieldset class="code-entry">
      <legend>{label}</legend>
      {sizes.map((size, row) => {
        const mark = marks[row] ?? "short";
        const said = markText(mark, countSymbols(rows.value[row] ?? ""), size);
        return (
          <div key={row} class={`code-row ${mark}`}>
            <label for={`${id}-${row}`}>
              {codeEntry.row(row + 1)}
              <span class="unseen"> {codeEntry.ofRows(sizes.length)}</span>
            </label>
            <input
              id={`${id}-${row}`}
              ref={(line) => {
                lines.current[row] = line;
              }}
              value={rows.value[row]}
              autocomplete="off"
              autocapitalize="characters"
              spellcheck={false}
              aria-describedby={`${id}-${row}-mark`}
              aria-invalid={mark === "wrong" || mark === "long"}
              onInput={({ currentTarget }) => onInput(row, currentTarget)}
              onPaste={(event) => onPaste(row, event)}
              onKeyDown={(event) => onKeyDown(row, event)}
            />
            <span class="mark" id={`${id}-${row}-mark`}>
              {said}
            </span>
          </div>
        );
      })}
      <p class="hint" role="status">
        {progressText(marks)}
      </p>
    </fieldset>
  );
}

/** Changes when a row is full, not with each symbol: that is often enough to be read out. */
function progressText(marks: readonly CodeRowStatus[]): string {
  const toCome = marks.filter((mark) => mark === "short").length;
  const wrong = marks.flatMap((mark, row) =>
    mark === "wrong" || mark === "long" ? [row + 1] : [],
  );
  if (toCome === 0 && wrong.length === 0) return codeEntry.complete;
  const again = wrong.length === 0 ? "" : codeEntry.rowsWrong(wrong.join(", "));
  return `${again} ${toCome === 0 ? "" : codeEntry.rowsMissing(toCome)}`.trim();
}

function markText(mark: CodeRowStatus, count: number, size: number): string {
  switch (mark) {
    case "right":
      return `✓ ${codeEntry.correct}`;
    case "wrong":
      return `✗ ${codeEntry.wrong}`;
    case "long":
      return `✗ ${codeEntry.long(count - size)}`;
    default:
      return count === 0 ? codeEntry.empty : codeEntry.short(count, size);
  }
}
