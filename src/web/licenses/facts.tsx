import type { Words } from "./terms.ts";

/** What and how much, line by line. */
export const Facts = ({ words }: { words: Words }) => (
  <dl class="facts">
    {words.map(([name, text]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{text}</dd>
      </div>
    ))}
  </dl>
);
