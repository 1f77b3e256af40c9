import { frame } from "../texts/frame.ts";
import { Command } from "./command.tsx";

/** The commands that do what stands beside them. */
export const CliCommands = ({ commands }: { commands: readonly string[] }) => (
  <details class="on-terminal">
    <summary>{frame.cliCommands}</summary>
    {commands.map((command) => (
      <Command key={command} text={command} />
    ))}
  </details>
);
