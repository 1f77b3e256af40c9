import { useSignal, useSignalEffect } from "@preact/signals";
import { useRef } from "preact/hooks";
import { isOutcomeUnknown, isUnanswered } from "../api-error.ts";
import { ApiError, errorMessageOf } from "../api.ts";
import { isConnected } from "../status-stream.ts";

/** Runs one action at a time and keeps its error message; empty: no error. */
export function useAction() {
  const busy = useSignal(false);
  const wrong = useSignal("");
  /** A change that may have been made is no error yet. */
  const wrongKind = useSignal<"bad" | "warn">("bad");
  /** The field of the request that caused the error; null: none, or not known. */
  const wrongField = useSignal<string | null>(null);
  const isConnectionLost = useRef(false);
  // "The server does not answer" is no longer true when the connection is back.
  useSignalEffect(() => {
    if (!isConnected.value || !isConnectionLost.current) return;
    isConnectionLost.current = false;
    wrong.value = "";
  });
  const act = async (work: () => unknown): Promise<void> => {
    if (busy.value) return;
    busy.value = true;
    wrong.value = "";
    wrongField.value = null;
    isConnectionLost.current = false;
    try {
      await work();
    } catch (error) {
      wrongField.value = error instanceof ApiError ? error.field : null;
      wrongKind.value = isOutcomeUnknown(error) ? "warn" : "bad";
      isConnectionLost.current = isUnanswered(error) && !isOutcomeUnknown(error);
      wrong.value = errorMessageOf(error);
    } finally {
      busy.value = false;
    }
  };
  return { busy, wrong, wrongKind, wrongField, act };
}
