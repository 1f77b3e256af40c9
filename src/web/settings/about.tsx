import type { NoticesReply } from "../../http/routes/settings.ts";
import { admin, done } from "../api.ts";
import { date } from "../format.ts";
import { status } from "../live.ts";
import { Facts } from "../parts/facts.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { about } from "../texts/care.ts";
import { settings } from "../texts/settings.ts";
import { OnTerminal } from "../parts/on-terminal.tsx";

/** Which server this is, and what it is made of. */
export function About() {
  const { value: known } = status;
  if (known === null) return null;
  const { appliance } = known;
  const facts = [
    [about.version, known.version],
    [about.made, date(known.created_at)],
    [about.appliance, appliance.id],
    [about.hardware, appliance.hardware_id],
    [about.parts, appliance.components.join(", ")],
  ] as const;
  return (
    <>
      <section class="card">
        <h3>{settings.sections.about}</h3>
        <Facts as="lines" facts={facts} />
        {appliance.weak_binding && <p class="warn">{about.weak}</p>}
      </section>
      <section class="card notices">
        <h3>{about.notices}</h3>
        <Loaded ask={() => done(admin.notices.get())}>
          {({ runtime, packages }) => [runtime, ...packages].map((one) => <Work {...one} />)}
        </Loaded>
      </section>
      <OnTerminal commands={about.commands} />
    </>
  );
}

const Work = ({ name, version, license, text }: NoticesReply["runtime"]) => (
  <details key={name}>
    <summary>
      {name} {version} <span class="quiet">{about.terms(license)}</span>
    </summary>
    <pre>{text}</pre>
  </details>
);
