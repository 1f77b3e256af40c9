import type { Signal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import { checkCodeRows, codeRowSizes, type CodeRowStatus } from "../../../license/codes/code.ts";
import { codeEntry } from "./air-gap-texts.ts";
import { countSymbols, pasteCode, typeIntoRow, type CodeInput } from "./code-input.ts";

interface Props {
  readonly label: string;
  readonly bits: number;
  readonly rows: Signal<readonly string[]>;
  /** Called on Enter, once all rows are correct. */
  readonly onComplete?: () => void;
}

/** Input for a code that is read out; each full row is checked by the server's own rule. */
export function CodeEntry({ label, bits, rows, onComplete }: Props) {
  const inputs = useRef<(HTMLInputElement | null)[]>([]);
  const sizes = codeRowSizes(bits);
  const statuses = checkCodeRows(rows.value, bits);
  const id = useId();

  const applyInput = ({ rows: newRows, at }: CodeInput): void => {
    rows.value = newRows;
    // Immediately, not on the next render: a scanner's next key must reach the right row.
    for (const [index, input] of inputs.current.entries()) {
      const value = newRows[index] ?? "";
      if (input !== null && input.value !== value) input.value = value;
    }
    inputs.current[at]?.focus();
  };
  const onInput = (row: number, input: HTMLInputElement): void => {
    const atEnd = input.selectionStart === input.value.length;
    applyInput(typeIntoRow(rows.value, row, input.value, bits, atEnd));
  };
  const onPaste = (row: number, event: ClipboardEvent): void => {
    const pasted = pasteCode(rows.value, row, event.clipboardData?.getData("text") ?? "", bits);
    if (pasted === null) return;
    event.preventDefault();
    applyInput(pasted);
  };
  const onKeyDown = (row: number, event: KeyboardEvent): void => {
    if (event.key === "Backspace" && rows.value[row] === "" && row > 0) {
      event.preventDefault();
      inputs.current[row - 1]?.focus();
    }
    if (event.key !== "Enter") return;
    event.preventDefault();
    const current = checkCodeRows(rows.value, bits);
    if (current.every((rowStatus) => rowStatus === "right")) onComplete?.();
    // In a row that is not full, Enter is the line end that a scanner sent after the row before.
    else if (current[row] !== "short") inputs.current[row + 1]?.focus();
  };

  return (
    <fieldset class="code-entry">
      <legend>{label}</legend>
      {sizes.map((size, row) => {
        const status = statuses[row] ?? "short";
        const statusText = rowStatusText(status, countSymbols(rows.value[row] ?? ""), size);
        return (
          <div key={row} class={`code-row ${status}`}>
            <label for={`${id}-${row}`}>
              {codeEntry.row(row + 1)}
              <span class="visually-hidden"> {codeEntry.ofRows(sizes.length)}</span>
            </label>
            <input
              id={`${id}-${row}`}
              ref={(input) => {
                inputs.current[row] = input;
              }}
              value={rows.value[row]}
              autocomplete="off"
              autocapitalize="characters"
              spellcheck={false}
              aria-describedby={`${id}-${row}-mark`}
              aria-invalid={status === "wrong" || status === "long"}
              onInput={({ currentTarget }) => onInput(row, currentTarget)}
              onPaste={(event) => onPaste(row, event)}
              onKeyDown={(event) => onKeyDown(row, event)}
            />
            <span class="mark" id={`${id}-${row}-mark`}>
              {statusText}
            </span>
          </div>
        );
      })}
      <p class="hint" role="status">
        {progressText(statuses)}
      </p>
    </fieldset>
  );
}

/** Changes when a row is full, not with each symbol, so that screen readers are not flooded. */
function progressText(statuses: readonly CodeRowStatus[]): string {
  const incomplete = statuses.filter((status) => status === "short").length;
  const wrong = statuses.flatMap((status, row) =>
    status === "wrong" || status === "long" ? [row + 1] : [],
  );
  if (incomplete === 0 && wrong.length === 0) return codeEntry.complete;
  const wrongText = wrong.length === 0 ? "" : codeEntry.rowsWrong(wrong);
  return `${wrongText} ${incomplete === 0 ? "" : codeEntry.rowsMissing(incomplete)}`.trim();
}

function rowStatusText(status: CodeRowStatus, count: number, size: number): string {
  switch (status) {
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
