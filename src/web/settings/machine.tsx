import { Command } from "../parts/command.tsx";
import { machine } from "./maintenance-texts.ts";

/** Tasks that are possible only on the server, with their commands. */
export const MachineCommands = () => (
  <>
    <p class="muted">{machine.about}</p>
    {machine.topics.map(({ title, text, commands }) => (
      <section key={title} class="card">
        <h3>{title}</h3>
        <p>{text}</p>
        <div class="commands">
          {commands.map((command) => (
            <Command key={command} text={command} />
          ))}
        </div>
      </section>
    ))}
  </>
);
