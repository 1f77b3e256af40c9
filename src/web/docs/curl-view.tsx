import { CopyButton } from "../parts/button.tsx";

/** A line for a terminal, which may be long. */
export const Curl = ({ line }: { line: string }) => (
  <div class="curl">
    <pre tabIndex={0}>
      <code>{line}</code>
    </pre>
    <CopyButton text={line} />
  </div>
);
