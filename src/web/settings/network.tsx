import type { SettingsReply } from "../../http/running-server.ts";
import type { StatusReply } from "../../http/reply/status.ts";
import { admin, unwrapReply } from "../api.ts";
import { formatDate } from "../format.ts";
import { serverStatus } from "../status-stream.ts";
import { Command } from "../parts/command.tsx";
import { Facts } from "../parts/facts.tsx";
import { AsyncContent } from "../parts/async-content.tsx";
import { settings } from "./settings-texts.ts";
import { CliCommands } from "../parts/cli-commands.tsx";

const { network } = settings;

/** Listeners, networks, certificate, exposures and all settings. */
export const Network = () => (
  <AsyncContent load={() => unwrapReply(admin.settings.get())}>
    {(reply) => <NetworkContent reply={reply} />}
  </AsyncContent>
);

function NetworkContent({ reply }: { reply: SettingsReply }) {
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
      <Exposures exposures={status.exposures} />
      <section class="card">
        <h3>{network.allSettings}</h3>
        <SettingsTable reply={reply} />
        <p>{network.file}</p>
        <Command text={network.fileLine} />
        <p>{network.restart}</p>
        <Command text={network.restartCommand} />
      </section>
      <CliCommands commands={network.commands} />
    </>
  );
}

function NetworkFacts({ reply: { settings: all, networks, listeners } }: { reply: SettingsReply }) {
  const auth = String(all.find(({ name }) => name === "client-auth")?.value ?? "open");
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

function Exposures({ exposures }: Pick<StatusReply, "exposures">) {
  return (
    <section class="card">
      <h3>{network.exposures}</h3>
      {exposures.length === 0 && <p>{network.noExposures}</p>}
      <ul class="rows">
        {exposures.map(({ finding, remedy }) => (
          <li key={finding} class="exposure">
            <p>{finding}</p>
            <p>
              <span class="muted">{network.remedy}</span> <code>{remedy}</code>
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}

function SettingsTable({ reply }: { reply: SettingsReply }) {
  return (
    <div class="wide" tabIndex={0} role="region" aria-label={network.allSettings}>
      <table>
        <thead>
          <tr>
            <th scope="col">{network.setting}</th>
            <th scope="col">{network.value}</th>
            <th scope="col">{network.source}</th>
          </tr>
        </thead>
        <tbody>
          {reply.settings.map(({ name, value, source }) => (
            <tr key={name}>
              <th scope="row">
                <code>{name.replaceAll("-", "_")}</code>
              </th>
              <td>{textOf(value)}</td>
              <td class="muted">{source}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const textOf = (value: SettingsReply["settings"][number]["value"]): string =>
  String(Array.isArray(value) ? value.join(", ") : value) || network.notSet;
