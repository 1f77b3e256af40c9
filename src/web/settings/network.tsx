import type { SettingsReply } from "../../http/running-server.ts";
import type { StatusReply } from "../../http/routes/health/status-schema.ts";
import { admin, unwrapReply } from "../api.ts";
import { formatDate } from "../format.ts";
import { isExposure } from "../health/findings.ts";
import { serverStatus } from "../status-stream.ts";
import { Command } from "../parts/command.tsx";
import { Facts } from "../parts/facts.tsx";
import { AsyncContent } from "../parts/async-content.tsx";
import { settings } from "./settings-texts.ts";
import { CliCommands } from "../parts/cli-commands.tsx";
import { SettingForm } from "./setting-form.tsx";

const { network } = settings;

/** Listeners, networks, certificate and exposures. */
export const Network = () => (
  <AsyncContent load={() => unwrapReply(admin.settings.get())}>
    {(reply, reload) => <NetworkContent reply={reply} reload={reload} />}
  </AsyncContent>
);

interface ContentProps {
  readonly reply: SettingsReply;
  readonly reload: () => Promise<void>;
}

function NetworkContent({ reply, reload }: ContentProps) {
  const { value: status } = serverStatus;
  if (status === null) return null;
  return (
    <>
      <section class="card">
        <h3>{settings.sections.network}</h3>
        <p class="muted">{network.about}</p>
        <NetworkFacts reply={reply} />
        <Certificate certificate={status.certificate} />
      </section>
      <Exposures findings={status.findings.filter(isExposure)} />
      <section class="card">
        <h3>{network.clientNetworksTitle}</h3>
        <p class="muted">{network.clientNetworksAbout}</p>
        <SettingForm settings={reply.settings} names={["client_networks"]} onSaved={reload} />
      </section>
      <CliCommands commands={network.commands} />
    </>
  );
}

function NetworkFacts({ reply: { settings: all, networks, listeners } }: { reply: SettingsReply }) {
  const auth = String(all.find(({ name }) => name === "client_auth")?.value ?? "open");
  const isSame = networks.client.join() === networks.admin.join();
  return (
    <Facts
      as="lines"
      facts={[
        [network.listeners, listeners.map(Listener)],
        [network.clientAuth, network.clientAuthModes[auth] ?? auth],
        [network.clients, listText(networks.client)],
        [network.admins, isSame ? network.sameNetworks : listText(networks.admin)],
      ]}
    />
  );
}

const listText = (networks: readonly string[]): string => networks.join(", ") || network.noNetworks;

const Listener = ({ address, tls }: SettingsReply["listeners"][number]) => (
  <p key={address}>
    <code>{address}</code> {tls ? network.tls : network.plain}
  </p>
);

function Certificate({ certificate }: { certificate: StatusReply["certificate"] }) {
  const state = certificate?.state ?? "expired";
  return (
    <>
      <h4>{network.certificate}</h4>
      <p class={state === "ok" ? "" : certificate === null ? "muted" : "bad"}>
        {certificate === null
          ? network.noCertificate
          : network.states[state](formatDate(certificate.expires_at))}
      </p>
      <p>{network.renew}</p>
      <Command text={network.renewCommand} />
    </>
  );
}

function Exposures({ findings }: Pick<StatusReply, "findings">) {
  return (
    <section class="card">
      <h3>{network.exposures}</h3>
      {findings.length === 0 && <p>{network.noExposures}</p>}
      <ul class="rows">
        {findings.map(({ summary, remedy }) => (
          <li key={summary} class="exposure">
            <p>{summary}</p>
            <p>
              <span class="muted">{network.remedy}</span> {remedy}
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}
