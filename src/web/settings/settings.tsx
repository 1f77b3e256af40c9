import type { FunctionComponent } from "preact";
import { linkTo, currentRoute } from "../router.ts";
import { settings } from "./settings-texts.ts";
import { About } from "./about.tsx";
import { Access } from "../access/access.tsx";
import { Maintenance } from "./maintenance.tsx";
import { Backups } from "../backups/backups.tsx";
import { Clock } from "../clock/clock.tsx";
import { General } from "./general.tsx";
import { Keys } from "./keys.tsx";
import { MachineCommands } from "./machine.tsx";
import { Network } from "./network.tsx";
import { Trust } from "../trust/trust.tsx";

type Section = keyof typeof settings.sections;

const SECTION_COMPONENTS: { readonly [S in Section]: FunctionComponent } = {
  access: Access,
  general: General,
  backups: Backups,
  trust: Trust,
  keys: Keys,
  network: Network,
  clock: Clock,
  maintenance: Maintenance,
  machine: MachineCommands,
  about: About,
};

const SECTIONS = Object.keys(SECTION_COMPONENTS) as Section[];

/** The settings, one section at a time, each with its own address. */
export function Settings() {
  const [name] = currentRoute.value.params;
  const section = SECTIONS.find((candidate) => candidate === name) ?? "access";
  const SectionComponent = SECTION_COMPONENTS[section];
  return (
    <>
      <h2>{settings.title}</h2>
      <div class="settings">
        <nav aria-label={settings.index}>
          {SECTIONS.map((entry) => (
            <a
              key={entry}
              href={linkTo("settings", entry)}
              aria-current={entry === section ? "true" : undefined}
            >
              {settings.sections[entry]}
            </a>
          ))}
        </nav>
        <div class="stack" key={section}>
          <SectionComponent />
        </div>
      </div>
    </>
  );
}
