import { useSignal } from "@preact/signals";
import { useRef, useEffect } from "preact/hooks";
import { formatDateTime } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { CliCommands } from "../parts/cli-commands.tsx";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { Notice } from "../parts/notice.tsx";
import { QueryContent } from "../parts/query-content.tsx";
import { canChange } from "../session.ts";
import { useSharedQuery, useQuery } from "../use-query.ts";
import { Explain } from "./explain.tsx";
import { countFindings, markLines } from "./finding-marks.ts";
import { Findings } from "./findings.tsx";
import { Preview } from "./preview.tsx";
import {
  appliedRules,
  applyDraft,
  clearRules,
  draft,
  replaceText,
  rebaseDraft,
  replacedText,
  checkRules,
} from "./rules-data.ts";
import { editDraft, stateOfDraft, type AppliedRules } from "./rules-draft.ts";
import { rules } from "./rules-texts.ts";
import type { RulesReply, RulesCheckReply } from "../../http/routes/rules/rules-reply.ts";
import { RuleTools } from "./rule-tools.tsx";
import { TextEditor, type TextEditorHandle } from "./text-editor.tsx";
import type { Query } from "../query.ts";

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

/** Other rules are in effect than those that the edit began with: the reader decides. */
function ChangedElsewhere({ applied }: { applied: AppliedRules }) {
  const { changed } = rules;
  return (
    <Notice kind="warn" title={changed.title}>
      <p>{changed.text}</p>
      <div class="row">
        <Button onClick={() => replaceText(applied, applied.text)}>{changed.load}</Button>
        <Button onClick={() => rebaseDraft(applied)}>{changed.keep}</Button>
      </div>
    </Notice>
  );
}

/** The text that was in the editor before can be brought back. */
function ReplacedText({ applied }: { applied: AppliedRules }) {
  const { value: text } = replacedText;
  if (text === null) return null;
  return (
    <Notice kind="note">
      <p>{rules.restoreText}</p>
      <Button onClick={() => replaceText(applied, text)}>{rules.restore}</Button>
    </Notice>
  );
}

/** A check is sent after so long without a key press. */
const TYPING_PAUSE = 400;
/** The preview counts slots, which change. */
const MAX_AGE = 30_000;

interface CheckedText {
  readonly text: string;
  readonly reply: RulesCheckReply;
}

/** Checks a text on the server whenever the reader pauses; old findings stay until then. */
function useCheckedText(text: string): Query<CheckedText> {
  const pausedText = useSignal(text);
  useEffect(() => {
    const timer = setTimeout(() => (pausedText.value = text), TYPING_PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  const { value: checked } = pausedText;
  return useQuery(
    async (signal) => ({ text: checked, reply: await checkRules(checked, signal) }),
    [checked],
    { watch: () => null, maxAge: MAX_AGE, keepsOldData: true },
  );
}
