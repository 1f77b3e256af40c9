import { CopyButton } from "../parts/button.tsx";

/** A curl command to copy; it can have several lines. */
export const CurlCommand = ({ command }: { command: string }) => (
  <div class="curl">
    <pre tabIndex={0}>
      <code>{command}</code>
    </pre>
    <CopyButton text={command} />
  </div>
);
