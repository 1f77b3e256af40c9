import { describe, expect, test } from "bun:test";
import { editDraft, stateOfDraft } from "../../../src/web/rules/rules-draft.ts";

const applied = { text: "old", digest: "d1" };
const others = { text: "others", digest: "d2" };

describe("a draft of the rules", () => {
  test("is edited while the rules that it began with are in effect", () => {
    const draft = editDraft(null, applied, "new");
    expect(draft).toEqual({ text: "new", base: "d1" });
    expect(stateOfDraft(draft, applied)).toBe("edited");
  });

  test("is none when the text is the applied one again", () => {
    const draft = editDraft(null, applied, "new");
    expect(editDraft(draft, applied, "old")).toBeNull();
    expect(stateOfDraft(null, applied)).toBe("unchanged");
  });

  test("keeps the rules that it began with when others are applied and it is edited on", () => {
    const draft = editDraft(null, applied, "new");
    expect(stateOfDraft(draft, others)).toBe("changed-elsewhere");
    const later = editDraft(draft, others, "newer");
    expect(later).toEqual({ text: "newer", base: "d1" });
    expect(stateOfDraft(later, others)).toBe("changed-elsewhere");
  });

  test("is unchanged when another administrator applied the same text", () => {
    const draft = editDraft(null, applied, "others");
    expect(stateOfDraft(draft, others)).toBe("unchanged");
  });
});
