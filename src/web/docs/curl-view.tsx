import { CopyButton } from "../parts/button.tsx";

/** A line for a terminal, which may be long. */
export const CurlCommand = ({ command: line }: { command: string }) => (
  <div class="curl">
    <pre tabIndex={0}>
      <code>{line}</code>
    </pre>
    <CopyButton text={line} />
  </div>
);
