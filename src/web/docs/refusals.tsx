import type { Refusal } from "./document.ts";

/** Refusals: the code for programs, and the message for people. */
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
