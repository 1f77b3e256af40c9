import { useSignal } from "@preact/signals";
import { errorMessageOf } from "../api.ts";

/** Runs one action at a time and keeps its error message; empty: no error. */
export function useAction() {
  const busy = useSignal(false);
  const wrong = useSignal("");
  const act = async (work: () => unknown): Promise<void> => {
    if (busy.value) return;
    busy.value = true;
    wrong.value = "";
    try {
      await work();
    } catch (error) {
      wrong.value = errorMessageOf(error);
    } finally {
      busy.value = false;
    }
  };
  return { busy, wrong, act };
}
