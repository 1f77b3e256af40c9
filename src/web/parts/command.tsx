import { CopyButton } from "./button.tsx";

/** A line for a terminal. */
export const Command = ({ text }: { text: string }) => (
  <div class="command">
    <code>{text}</code>
    <CopyButton text={text} />
  </div>
);
