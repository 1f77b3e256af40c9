import type { ComponentChildren } from "preact";

interface Props {
  readonly kind: "good" | "note" | "warn" | "bad";
  readonly title?: string;
  readonly children: ComponentChildren;
}

/** A message; screen readers announce it, an error immediately. */
export const Notice = ({ kind, title, children }: Props) => (
  <div class={`notice ${kind}`} role={kind === "bad" ? "alert" : "status"}>
    {title !== undefined && <strong>{title}</strong>}
    <div>{children}</div>
  </div>
);
