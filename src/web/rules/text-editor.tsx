import { useId, useImperativeHandle, useRef } from "preact/hooks";
import type { Ref } from "preact";
import { countLines, numberLines, rangeOfLine } from "./text-lines.ts";

export interface TextEditorHandle {
  /** Selects a line and shows it; line 0: the whole text is meant. */
  readonly showLine: (line: number) => void;
}

interface Props {
  readonly label: string;
  readonly hint: string;
  readonly text: string;
  readonly isReadOnly: boolean;
  readonly marks: ReadonlyMap<number, "error" | "warning">;
  readonly onInput: (text: string) => void;
  readonly handle: Ref<TextEditorHandle>;
}

/** A plain text field with line numbers; lines with findings are marked. */
export function TextEditor({ label, hint, text, isReadOnly, marks, onInput, handle }: Props) {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const numbers = useRef<HTMLPreElement>(null);
  const alignNumbers = (): void => {
    if (numbers.current !== null) numbers.current.scrollTop = area.current?.scrollTop ?? 0;
  };
  useImperativeHandle(handle, () => ({
    showLine(line) {
      const { current } = area;
      if (current === null) return;
      const [start, end] = rangeOfLine(current.value, line);
      current.focus();
      current.setSelectionRange(start, end);
      const height = current.scrollHeight / countLines(current.value);
      current.scrollTop = Math.max(0, (line - 1) * height - current.clientHeight / 3);
      alignNumbers();
    },
  }));
  const isWrong = [...marks.values()].includes("error");
  return (
    <div class="field rules-field">
      <label for={id}>{label}</label>
      <div class="text-editor">
        <pre class="line-numbers" aria-hidden="true" ref={numbers}>
          {numberLines(countLines(text), marks).map(({ numbers: lines, mark }) =>
            mark === null ? lines : <b class={mark}>{lines}</b>,
          )}
        </pre>
        <textarea
          id={id}
          ref={area}
          wrap="off"
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          readOnly={isReadOnly}
          aria-describedby={`${id}-hint`}
          aria-invalid={isWrong}
          value={text}
          onScroll={alignNumbers}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      </div>
      {/* A text field prints only what it shows. */}
      <pre class="printed-rules">{text}</pre>
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
    </div>
  );
}
