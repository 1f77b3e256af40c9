import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { admin, unwrapReply } from "../api.ts";
import { watchStatus } from "../status-stream.ts";
import { Button } from "../parts/button.tsx";
import { Command } from "../parts/command.tsx";
import { Notice } from "../parts/notice.tsx";
import { OneTimeSecret } from "../parts/one-time-secret.tsx";
import { signIn, token } from "../session.ts";
import { frame } from "../texts/frame.ts";
import { unclaimed } from "../texts/sign-in.ts";

/** Null: not asked yet. */
const isClaimed = signal<boolean | null>(null);

/** On a first visit: how to close the door that stands open behind you. */
export function UnclaimedNotice() {
  const made = useSignal<string | null>(null);
  useEffect(() => {
    if (token.value === null) void readIsClaimed();
  }, []);
  const make = async (): Promise<void> => {
    const reply = await unwrapReply(admin.access.tokens.post({ name: "page" }));
    made.value = reply.token;
    isClaimed.value = true;
    signIn(reply.token);
    void watchStatus();
  };
  if (made.value !== null) {
    const close = (): void => {
      made.value = null;
    };
    return <OneTimeSecret {...unclaimed.tokenCreated} secret={made.value} onClose={close} />;
  }
  if (isClaimed.value !== false || token.value !== null) return null;
  return (
    <Notice kind="warn" title={unclaimed.title}>
      <p>{unclaimed.text}</p>
      <Button kind="main" onClick={make}>
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
    // Whoever is not let in has the sign-in before them already.
  }
}
