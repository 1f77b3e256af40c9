import { Button } from "../parts/button.tsx";
import { Notice } from "../parts/notice.tsx";
import { rebaseDraft, replacedText, replaceText } from "./rules-data.ts";
import type { AppliedRules } from "./rules-draft.ts";
import { rules } from "./rules-texts.ts";

/** Other rules are in effect than those that the edit began with: the reader decides. */
export function ChangedElsewhere({ applied }: { applied: AppliedRules }) {
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
export function ReplacedText({ applied }: { applied: AppliedRules }) {
  const { value: text } = replacedText;
  if (text === null) return null;
  return (
    <Notice kind="note">
      <p>{rules.restoreText}</p>
      <Button onClick={() => replaceText(applied, text)}>{rules.restore}</Button>
    </Notice>
  );
}
