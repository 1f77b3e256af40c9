import type { EventTestsReply } from "../../../http/routes/health/events.ts";
import { unwrapReply, withAdminClient } from "../../client/admin-client.ts";
import { EXIT_FAILURE, EXIT_OK, Failure } from "../../frame/command.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";

/** The server sends it, not this command: only the server has the sandbox of its service. */
export const eventsTestCommand = defineCommand({
  name: "events test",
  summary: "let the running server send a test event to its program and to syslog",
  options: { ...siteOptions, json: option.json },
  examples: ["berth events test --data /srv/berth"],
  run: (site, context) =>
    withAdminClient(site, context, async ({ admin }) => {
      const reply = await unwrapReply(admin.events.test.post({})).catch(refuseWithoutServer);
      if (reply.tests.length === 0) {
        throw new Failure(
          "the server sends no events: neither on_event nor event_syslog is set",
          "set one of them in the settings file, then restart the server",
        );
      }
      return {
        json: reply,
        text: reply.tests.map(formatTest).join("\n"),
        exitCode: reply.tests.every((test) => test.is_delivered) ? EXIT_OK : EXIT_FAILURE,
      };
    }),
});

function formatTest({
  setting,
  failure,
  exit_code: exitCode,
  output,
  duration_ms: duration,
}: EventTestsReply["tests"][number]): string {
  const code = exitCode === null ? "" : `, exit code ${exitCode}`;
  const result =
    failure === null ? `delivered in ${duration} ms${code}` : `not delivered: ${failure}`;
  const lines = output.trimEnd() === "" ? [] : output.trimEnd().split("\n");
  return [`${setting}: ${result}`, ...lines.map((line) => `  ${line}`)].join("\n");
}

function refuseWithoutServer(error: unknown): never {
  if (!(error instanceof Failure) || error.code !== "server_not_running") throw error;
  throw new Failure("no server is running", "start it first: berth serve", error.code);
}
