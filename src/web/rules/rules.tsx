import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { formatDateTime } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { CliCommands } from "../parts/cli-commands.tsx";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { Notice } from "../parts/notice.tsx";
import { QueryContent } from "../parts/query-content.tsx";
import { canChange } from "../session.ts";
import { useSharedQuery } from "../use-query.ts";
import { Explain } from "./explain.tsx";
import { countFindings, markLines } from "./finding-marks.ts";
import { Findings } from "./findings.tsx";
import { Preview } from "./preview.tsx";
import { appliedRules, applyDraft, clearRules, draft, replaceText } from "./rules-data.ts";
import { editDraft, stateOfDraft } from "./rules-draft.ts";
import { ChangedElsewhere, ReplacedText } from "./other-texts.tsx";
import { rules } from "./rules-texts.ts";
import type { RulesReply } from "../../http/routes/rules/rules-reply.ts";
import { RuleTools } from "./rule-tools.tsx";
import { TextEditor, type TextEditorHandle } from "./text-editor.tsx";
import { useCheckedText } from "./use-checked-text.ts";

/** The site's rules as a text, with findings and a preview beside it, and what they mean. */
export const Rules = () => (
  <div class="rules-view">
    <h2>{rules.title}</h2>
    <p class="muted">{rules.about}</p>
    <QueryContent query={useSharedQuery(appliedRules)}>
      {(applied) => (
        <>
          <RulesEditor applied={applied} />
          <Explain />
        </>
      )}
    </QueryContent>
    <CliCommands commands={rules.commands} />
  </div>
);

function RulesEditor({ applied }: { applied: RulesReply }) {
  const editor = useRef<TextEditorHandle>(null);
  const outcome = useSignal("");
  const state = stateOfDraft(draft.value, applied);
  const text = draft.value?.text ?? applied.text;
  const check = useCheckedText(text);
  const { value: checked } = check.data;
  const findings = checked?.reply.findings ?? null;
  const isChecking = checked?.text !== text;
  const hasErrors = findings !== null && countFindings(findings, "error") > 0;
  const edit = (next: string): void => {
    outcome.value = "";
    draft.value = editDraft(draft.value, applied, next);
  };
  const replace = (next: string): void => {
    outcome.value = "";
    replaceText(applied, next);
  };
  const apply = async (): Promise<void> => {
    outcome.value = "";
    if (await applyDraft(text, draft.value?.base ?? applied.digest)) {
      outcome.value = rules.appliedNow;
    }
  };
  const clear = async (): Promise<void> => {
    outcome.value = "";
    if (await clearRules(applied.digest)) outcome.value = rules.clear.done;
  };
  return (
    <div class="rules-columns">
      <section class="card">
        <RuleTools text={text} onReplace={replace} onEdit={edit} />
        {state === "changed-elsewhere" && <ChangedElsewhere applied={applied} />}
        <TextEditor
          handle={editor}
          label={rules.editor}
          hint={rules.editorHint}
          text={text}
          isReadOnly={!canChange.value}
          marks={isChecking ? new Map() : markLines(findings ?? [])}
          onInput={edit}
        />
        <p class="rules-status" role="status">
          {state === "unchanged" ? describeApplied(applied) : rules.edited}
        </p>
        {outcome.value !== "" && <Notice kind="good">{outcome.value}</Notice>}
        <ReplacedText applied={applied} />
        {canChange.value ? (
          <div class="row actions">
            {applied.text !== "" && (
              <ConfirmButton
                actionLabel={rules.clear.act}
                title={rules.clear.title}
                onConfirm={clear}
              >
                <p>{rules.clear.text}</p>
                <p>{rules.clear.keep}</p>
              </ConfirmButton>
            )}
            {state !== "unchanged" && (
              <Button onClick={() => replace(applied.text)}>{rules.discard}</Button>
            )}
            <Button
              kind="main"
              label={rules.applyLabel}
              disabled={state !== "edited" || hasErrors}
              onClick={apply}
            >
              {rules.apply}
            </Button>
          </div>
        ) : (
          <p class="hint">{rules.readOnly}</p>
        )}
      </section>
      <div class="rules-beside">
        {check.error.value !== "" && <Notice kind="bad">{check.error.value}</Notice>}
        <Findings
          findings={findings}
          isChecking={isChecking}
          noneText={state === "unchanged" ? rules.findings.noneOfApplied : rules.findings.none}
          onShowLine={(line) => editor.current?.showLine(line)}
        />
        {state !== "unchanged" && checked?.reply.preview != null && (
          <Preview pools={checked.reply.preview} />
        )}
      </div>
    </div>
  );
}

function describeApplied({ text, applied_at: at, groups, pools }: RulesReply): string {
  if (text === "" || at === null) return rules.none;
  return rules.applied(formatDateTime(at), groups, pools);
}
