import { useSignal } from "@preact/signals";
import type { NoticesReply } from "../../http/routes/settings/settings.ts";
import { admin, unwrapReply } from "../api.ts";
import { formatDate } from "../format.ts";
import { serverStatus } from "../status-stream.ts";
import { Facts } from "../parts/facts.tsx";
import { AsyncContent } from "../parts/async-content.tsx";
import { about } from "./maintenance-texts.ts";
import { settings } from "./settings-texts.ts";
import { CliCommands } from "../parts/cli-commands.tsx";

/** Version, identity and third-party notices. */
export function About() {
  const { value: status } = serverStatus;
  if (status === null) return null;
  const { appliance } = status;
  const facts = [
    [about.version, status.version],
    [about.createdAt, formatDate(status.created_at)],
    [about.appliance, appliance.id],
    [about.hardware, appliance.hardware_id],
    [about.components, appliance.components.join(", ")],
  ] as const;
  return (
    <>
      <section class="card">
        <h3>{settings.sections.about}</h3>
        <Facts as="lines" facts={facts} />
        {appliance.weak_binding && <p class="warn">{about.weakBinding}</p>}
      </section>
      <Notices />
      <CliCommands commands={about.commands} />
    </>
  );
}

/** Folded, and read only when it is opened. */
function Notices() {
  const isOpen = useSignal(false);
  return (
    <details class="card notices" onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>
        <h3>{about.notices}</h3>
      </summary>
      {isOpen.value && (
        <AsyncContent load={() => unwrapReply(admin.notices.get())}>
          {({ runtime, packages }) =>
            [runtime, ...packages].map((notice) => <PackageNotice {...notice} />)
          }
        </AsyncContent>
      )}
    </details>
  );
}

const PackageNotice = ({ name, version, license, text }: NoticesReply["runtime"]) => (
  <details key={name}>
    <summary>
      {name} {version} <span class="muted">{about.underLicense(license)}</span>
    </summary>
    <pre>{text}</pre>
  </details>
);
