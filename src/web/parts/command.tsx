import { CopyButton } from "./button.tsx";

/** A command line to copy. */
export const Command = ({ text }: { text: string }) => (
  <div class="command">
    <code>{text}</code>
    <CopyButton text={text} />
  </div>
);
