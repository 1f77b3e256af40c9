import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { errorMessageOf } from "../api.ts";
import { frame } from "../texts/frame.ts";
import { Button } from "./button.tsx";
import { Notice } from "./notice.tsx";

interface Props<T> {
  readonly load: () => Promise<T>;
  /** `again` asks anew; what was there stays until then. */
  readonly children: (there: T, again: () => Promise<void>) => ComponentChildren;
}

/** Waits for what it shows, says why it does not come, and tries again when asked. */
export function AsyncContent<T>({ load: ask, children }: Props<T>) {
  const there = useSignal<{ readonly value: T } | null>(null);
  const wrong = useSignal("");
  const load = async (): Promise<void> => {
    wrong.value = "";
    try {
      there.value = { value: await ask() };
    } catch (error) {
      wrong.value = errorMessageOf(error);
    }
  };
  useEffect(() => void load(), []);
  return (
    <>
      {wrong.value !== "" && (
        <>
          <Notice kind="bad">{wrong.value}</Notice>
          <Button onClick={load}>{frame.retry}</Button>
        </>
      )}
      {there.value !== null && children(there.value.value, load)}
      {there.value === null && wrong.value === "" && <p class="quiet">{frame.loading}</p>}
    </>
  );
}
