import type { RulesFinding } from "../../rules/rules-finding.ts";
import { countFindings } from "./finding-marks.ts";
import { rules } from "./rules-texts.ts";

interface Props {
  /** Null: the text is not checked yet. */
  readonly findings: readonly RulesFinding[] | null;
  /** The text has changed since the last check. */
  readonly isChecking: boolean;
  /** What to say if there are none. */
  readonly noneText: string;
  readonly onShowLine: (line: number) => void;
}

/** What is wrong in the text, by line; a line number leads to its line. */
export function Findings({ findings, isChecking, noneText, onShowLine }: Props) {
  const { findings: texts } = rules;
  return (
    <section class="card rules-findings">
      <h3>{texts.title}</h3>
      <p class="rules-status" role="status">
        {isChecking || findings === null ? texts.checking : summarize(findings, noneText)}
      </p>
      {findings !== null && findings.length > 0 && (
        <ul class={isChecking ? "rules-finding-list old" : "rules-finding-list"}>
          {findings.map(({ line, severity, message, hint }, index) => (
            <li key={index} class={severity}>
              <p>
                <strong>{texts.severities[severity]}</strong>{" "}
                {line === 0 ? (
                  texts.wholeFile
                ) : (
                  <button type="button" class="line-link" onClick={() => onShowLine(line)}>
                    {texts.line(line)}
                  </button>
                )}
              </p>
              <p>{message}</p>
              {hint !== null && <p class="hint">{hint}</p>}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function summarize(findings: readonly RulesFinding[], noneText: string): string {
  const { findings: texts } = rules;
  if (findings.length === 0) return noneText;
  const errors = countFindings(findings, "error");
  const count = texts.count(errors, countFindings(findings, "warning"));
  return errors > 0 ? `${count}. ${texts.cannotApply}` : `${count}.`;
}
