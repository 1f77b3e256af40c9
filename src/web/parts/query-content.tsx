import type { ComponentChildren } from "preact";
import type { Query } from "../query.ts";
import { Button } from "./button.tsx";
import { frame } from "./common-texts.ts";
import { Notice } from "./notice.tsx";

interface Props<T> {
  readonly query: Query<T>;
  readonly children: (data: T, refresh: () => Promise<void>) => ComponentChildren;
  /** Shown until there is data. */
  readonly loading?: ComponentChildren;
}

/** Shows the data of a query; before there is any, that it is loading or why it cannot. */
export function QueryContent<T>({ query, children, loading = <Loading /> }: Props<T>) {
  const { value: data } = query.data;
  const { value: error } = query.error;
  return (
    <>
      {error !== "" && (
        <>
          <Notice kind="bad">{error}</Notice>
          <Button onClick={query.refresh}>{frame.retry}</Button>
        </>
      )}
      {data !== null && children(data, query.refresh)}
      {data === null && error === "" && loading}
    </>
  );
}

export const Loading = () => <p class="muted loading">{frame.loading}</p>;
