import { frame } from "./common-texts.ts";
import { Command } from "./command.tsx";

/** The commands that do the same as the form or button beside them. */
export const CliCommands = ({ commands }: { commands: readonly string[] }) => (
  <details class="cli-commands">
    <summary>{frame.cliCommands}</summary>
    {commands.map((command) => (
      <Command key={command} text={command} />
    ))}
  </details>
);
