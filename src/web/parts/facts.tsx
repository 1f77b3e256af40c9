import type { ComponentChildren } from "preact";

export type Fact = readonly [name: string, value: ComponentChildren];

interface Props {
  readonly facts: readonly Fact[];
  /** Lines have the name before the value, tiles above it. */
  readonly as: "lines" | "tiles";
}

/** What is what, to be looked up by name. */
export const Facts = ({ facts, as }: Props) => (
  <dl class={`facts ${as}`}>
    {facts.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);
