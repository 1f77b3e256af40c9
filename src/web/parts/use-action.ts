import { useSignal } from "@preact/signals";
import { errorMessageOf } from "../api.ts";

/** Work that is done once at a time, and what went wrong with it; empty: nothing. */
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
