import { effect, signal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { useEffect } from "preact/hooks";
import { Button } from "./parts/button.tsx";
import { frame } from "./parts/common-texts.ts";
import { Notice } from "./parts/notice.tsx";
import { isConnected } from "./status-stream.ts";

/** The loaders of all views that were not shown yet. */
const loaders = new Set<() => Promise<void>>();

/**
 * A view whose script is a file of its own. `load` is an `import()` of the view, from which the
 * build makes that file.
 */
export function lazyView(load: () => Promise<FunctionComponent>): FunctionComponent {
  const view = signal<FunctionComponent | null>(null);
  const hasFailed = signal(false);
  const start = async (): Promise<void> => {
    try {
      view.value = await load();
      loaders.delete(start);
    } catch {
      hasFailed.value = true;
    }
  };
  loaders.add(start);
  return () => {
    // Again after a lost connection.
    useEffect(
      () =>
        effect(() => {
          if (isConnected.value && view.peek() === null) void start();
        }),
      [],
    );
    const View = view.value;
    if (View !== null) return <View />;
    return hasFailed.value && isConnected.value ? (
      <NotLoaded />
    ) : (
      <p class="muted loading">{frame.loading}</p>
    );
  };
}

const NotLoaded = () => (
  <Notice kind="bad" title={frame.viewNotLoaded}>
    <p>{frame.viewNotLoadedHint}</p>
    <Button onClick={() => location.reload()}>{frame.reload}</Button>
  </Notice>
);

const IDLE_TIMEOUT = 2_000;

function loadAll(): void {
  for (const load of loaders) void load();
}

/** After the first view: the others then open at once, also after a lost connection. */
export function loadViewsWhenIdle(): void {
  if ("requestIdleCallback" in globalThis) requestIdleCallback(loadAll, { timeout: IDLE_TIMEOUT });
  else setTimeout(loadAll, IDLE_TIMEOUT);
}
