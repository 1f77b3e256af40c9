import { useEffect, useMemo, useRef } from "preact/hooks";
import { Query, type QueryEnvironment, type QueryOptions, type ReadQuery } from "./query.ts";
import { isConnected, serverStatus } from "./status-stream.ts";

const pageEnvironment: QueryEnvironment = {
  isConnected,
  lastChange: () => serverStatus.value?.storage.seq,
  now: () => Date.now(),
  schedule(work, delay) {
    const timer = setTimeout(work, delay);
    return () => clearTimeout(timer);
  },
};

interface HookOptions<T> extends QueryOptions<T> {
  /** Shows the old data until the new one has arrived, when `deps` change. */
  readonly keepsOldData?: boolean;
}

/**
 * Reads while the component is shown: at once, when `deps` change, after changes on the server, and
 * when the connection comes back. Give the signal to the request, so that leaving cancels it:
 *
 *     const { data, error, refresh } = useQuery((signal) =>
 *       unwrapReply(admin.access.get({ fetch: { signal } })),
 *     );
 */
export function useQuery<T>(
  read: ReadQuery<T>,
  deps: readonly unknown[] = [],
  options: HookOptions<T> = {},
): Query<T> {
  const previous = useRef<Query<T> | null>(null);
  const query = useMemo(() => {
    const next = new Query(read, pageEnvironment, options);
    if (options.keepsOldData === true) next.data.value = previous.current?.data.peek() ?? null;
    return next;
  }, deps);
  previous.current = query;
  useEffect(() => query.start(), [query]);
  return query;
}

/** A query whose data several components show, and which survives a change of the view. */
export function createSharedQuery<T>(read: ReadQuery<T>, options: QueryOptions<T> = {}): Query<T> {
  return new Query(read, pageEnvironment, options);
}

/** Reads a shared query while the component is shown. */
export function useSharedQuery<T>(query: Query<T>): Query<T> {
  useEffect(() => query.start(), [query]);
  return query;
}
