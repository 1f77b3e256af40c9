import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { RulesCheckReply } from "../../http/routes/rules/rules-reply.ts";
import type { Query } from "../query.ts";
import { useQuery } from "../use-query.ts";
import { checkRules } from "./rules-data.ts";

/** A check is sent after so long without a key press. */
const TYPING_PAUSE = 400;
/** The preview counts slots, which change. */
const MAX_AGE = 30_000;

export interface CheckedText {
  readonly text: string;
  readonly reply: RulesCheckReply;
}

/** Checks a text on the server whenever the reader pauses; old findings stay until then. */
export function useCheckedText(text: string): Query<CheckedText> {
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
