import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { admin, unwrapReply } from "../api.ts";
import { watchStatus } from "../status-stream.ts";
import { Button } from "../parts/button.tsx";
import { Command } from "../parts/command.tsx";
import { Notice } from "../parts/notice.tsx";
import { OneTimeSecret } from "../parts/one-time-secret.tsx";
import { signIn, token } from "../session.ts";
import { frame } from "../parts/common-texts.ts";
import { unclaimed } from "./sign-in-texts.ts";

/** Whether a credential is required; null: not loaded yet. */
const isClaimed = signal<boolean | null>(null);

/** On the first visit: offers to create the admin token that protects the server. */
export function UnclaimedNotice() {
  const createdToken = useSignal<string | null>(null);
  useEffect(() => {
    if (token.value === null) void readIsClaimed();
  }, []);
  const create = async (): Promise<void> => {
    const reply = await unwrapReply(admin.access.tokens.post({ name: "page" }));
    createdToken.value = reply.token;
    isClaimed.value = true;
    signIn(reply.token);
    void watchStatus();
  };
  if (createdToken.value !== null) {
    const close = (): void => {
      createdToken.value = null;
    };
    return (
      <OneTimeSecret {...unclaimed.tokenCreated} secret={createdToken.value} onClose={close} />
    );
  }
  if (isClaimed.value !== false || token.value !== null) return null;
  return (
    <Notice kind="warn" title={unclaimed.title}>
      <p>{unclaimed.text}</p>
      <Button kind="main" onClick={create}>
        {unclaimed.createToken}
      </Button>
      <p class="hint">{frame.cliCommands}</p>
      <Command text={unclaimed.command} />
    </Notice>
  );
}

async function readIsClaimed(): Promise<void> {
  try {
    isClaimed.value = (await unwrapReply(admin.access.get())).credential_required;
  } catch {
    // Without access, the page shows the sign-in form already.
  }
}
