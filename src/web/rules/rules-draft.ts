/** The rules that are in effect. */
export interface AppliedRules {
  readonly text: string;
  readonly digest: string;
}

/** A text that was edited and not applied yet. */
export interface Draft {
  readonly text: string;
  /** The digest of the rules that the edit began with. */
  readonly base: string;
}

/**
 * `changed-elsewhere`: other rules were applied since the edit began. Applying the draft would undo
 * them, so the reader decides.
 */
export type DraftState = "unchanged" | "edited" | "changed-elsewhere";

export function stateOfDraft(draft: Draft | null, applied: AppliedRules): DraftState {
  if (draft === null || draft.text === applied.text) return "unchanged";
  return draft.base === applied.digest ? "edited" : "changed-elsewhere";
}

/** The draft after an edit; null: the text is the applied one again. */
export const editDraft = (
  draft: Draft | null,
  applied: AppliedRules,
  text: string,
): Draft | null => (text === applied.text ? null : { text, base: draft?.base ?? applied.digest });
