import { setFields, unwrapReply, withAdminClient } from "../client/admin-client.ts";
import { defineCommand } from "../frame/define-command.ts";
import { option, siteOptions } from "../frame/flags.ts";

export const releaseCommand = defineCommand({
  name: "release",
  isCommon: true,
  summary: "release a user's slot",
  options: {
    ...siteOptions,
    product: option.slotProduct,
    user: option.user,
    json: option.json,
  },
  examples: ["berth release --product CAD --user ada"],
  run: (site, context) =>
    withAdminClient(site, context, async ({ admin }) => {
      const { product, user } = site;
      const reply = await unwrapReply(
        admin.registrations.release.post(setFields({ product, user })),
      );
      return { json: reply, text: `the slot of ${user} is released` };
    }),
});
