import type { ComponentChildren } from "preact";

interface Props {
  readonly kind: "good" | "note" | "warn" | "bad";
  readonly title?: string;
  readonly children: ComponentChildren;
}

/** Said to whoever looks and to whoever listens; what is bad, at once. */
export const Notice = ({ kind, title, children }: Props) => (
  <div class={`notice ${kind}`} role={kind === "bad" ? "alert" : "status"}>
    {title !== undefined && <strong>{title}</strong>}
    <div>{children}</div>
  </div>
);
