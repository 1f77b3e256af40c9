import { Command } from "../parts/command.tsx";
import { settings } from "../texts/settings.ts";

/** The commands that do what a section does. */
export const OnTerminal = ({ commands }: { commands: readonly string[] }) => (
  <details class="on-terminal">
    <summary>{settings.onTerminal}</summary>
    {commands.map((command) => (
      <Command key={command} text={command} />
    ))}
  </details>
);
