import { Command } from "../parts/command.tsx";
import { machine } from "../texts/maintenance.ts";

/** What no page should be able to do. */
export const MachineCommands = () => (
  <>
    <p class="quiet">{machine.about}</p>
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
