import type { Refusal } from "./document.ts";

/** What a program can act on, and under it what a person would read. */
export const Refusals = ({ list }: { list: readonly Refusal[] }) => (
  <ul class="parts refusals">
    {list.map(({ status, code, message }) => (
      <li key={code}>
        <span class="type">{status}</span> <code class="name">{code}</code>
        <p>{message}</p>
      </li>
    ))}
  </ul>
);
