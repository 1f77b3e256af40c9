import type { ComponentChildren } from "preact";

export type Fact = readonly [name: string, value: ComponentChildren];

interface Props {
  readonly facts: readonly Fact[];
  /** Lines have the name before the value, tiles above it. */
  readonly as: "lines" | "tiles";
}

/** A list of names and values. */
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
