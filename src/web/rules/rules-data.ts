import { signal } from "@preact/signals";
import type {
  ExplanationReply,
  RulesCheckReply,
  RulesReply,
} from "../../http/routes/rules/rules-reply.ts";
import { admin, ApiError, unwrapReply } from "../api.ts";
import { serverStatus } from "../status-stream.ts";
import { createSharedQuery } from "../use-query.ts";
import type { ExplainedCaller } from "./explain-address.ts";
import { editDraft, type AppliedRules, type Draft } from "./rules-draft.ts";

/** The rules in effect. Another administrator may apply others while this page is open. */
export const appliedRules = createSharedQuery<RulesReply>(
  (cancelled) => unwrapReply(admin.rules.get({ fetch: { signal: cancelled } })),
  { watch: () => serverStatus.value?.rules?.digest },
);

/** What was edited here and not applied; it survives a change of the view. */
export const draft = signal<Draft | null>(null);

/** The last text that was replaced in the editor, and can be restored; null: none. */
export const replacedText = signal<string | null>(null);

export const checkRules = (text: string, cancelled: AbortSignal): Promise<RulesCheckReply> =>
  unwrapReply(admin.rules.check.post({ text }, { fetch: { signal: cancelled } }));

export const explainRules = (
  { user, host, from, login, product, feature }: ExplainedCaller,
  cancelled: AbortSignal,
): Promise<ExplanationReply> =>
  unwrapReply(
    admin.rules.explain.get({
      query: { user, host, from, login, product, feature },
      fetch: { signal: cancelled },
    }),
  );

/** Puts another text into the editor, and keeps the one that was edited before. */
export function replaceText(applied: AppliedRules, text: string): void {
  replacedText.value = draft.value?.text ?? null;
  draft.value = editDraft(null, applied, text);
}

/** The edit begins with the rules in effect now: applying it replaces them. */
export function rebaseDraft({ digest }: AppliedRules): void {
  if (draft.value !== null) draft.value = { ...draft.value, base: digest };
}

/** Whether the rules were applied; if not, others were applied since the edit began. */
export const applyDraft = (text: string, base: string): Promise<boolean> =>
  changeRules(() => admin.rules.put({ text }, { headers: ifMatch(base) }));

/** Whether the rules were cleared; if not, others were applied meanwhile. */
export const clearRules = (base: string): Promise<boolean> =>
  changeRules(() => admin.rules.clear.post({}, { headers: ifMatch(base) }));

const ifMatch = (digest: string) => ({ "if-match": `"${digest}"` });

async function changeRules(change: () => Parameters<typeof unwrapReply>[0]): Promise<boolean> {
  try {
    await unwrapReply(change());
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "rules_changed") throw error;
    await appliedRules.refresh();
    return false;
  }
  draft.value = null;
  replacedText.value = null;
  await appliedRules.refresh();
  return true;
}
