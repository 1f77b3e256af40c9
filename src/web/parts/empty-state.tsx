import type { ComponentChildren } from "preact";

interface Props {
  readonly title: string;
  /** What to do first. */
  readonly text?: string;
  /** Links or buttons that do it. */
  readonly children?: ComponentChildren;
}

/** Stands in place of a list that has no rows, and says what to do. */
export const EmptyState = ({ title, text, children }: Props) => (
  <section class="card empty">
    <h3>{title}</h3>
    {text !== undefined && <p class="muted">{text}</p>}
    {children !== undefined && <div class="row">{children}</div>}
  </section>
);
