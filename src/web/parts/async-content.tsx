import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { errorMessageOf } from "../api.ts";
import { frame } from "./common-texts.ts";
import { Button } from "./button.tsx";
import { Notice } from "./notice.tsx";

interface Props<T> {
  readonly load: () => Promise<T>;
  /** `reload` loads again; the old content stays until then. */
  readonly children: (content: T, reload: () => Promise<void>) => ComponentChildren;
}

/** Loads its content, shows an error if that fails, and offers to retry. */
export function AsyncContent<T>({ load: fetchContent, children }: Props<T>) {
  const content = useSignal<{ readonly value: T } | null>(null);
  const wrong = useSignal("");
  const load = async (): Promise<void> => {
    wrong.value = "";
    try {
      content.value = { value: await fetchContent() };
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
      {content.value !== null && children(content.value.value, load)}
      {content.value === null && wrong.value === "" && <p class="muted">{frame.loading}</p>}
    </>
  );
}
