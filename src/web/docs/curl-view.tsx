import { CopyButton } from "../parts/button.tsx";

/** A line for a terminal, which may be long. */
export const CurlCommand = ({ command }: { command: string }) => (
  <div class="curl">
    <pre tabIndex={0}>
      <code>{command}</code>
    </pre>
    <CopyButton text={command} />
  </div>
);
