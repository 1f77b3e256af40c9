import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { admin, done } from "../api.ts";
import { watch } from "../live.ts";
import { Button } from "../parts/button.tsx";
import { Command } from "../parts/command.tsx";
import { Notice } from "../parts/notice.tsx";
import { ShownOnce } from "../parts/shown-once.tsx";
import { signIn, token } from "../session.ts";
import { frame } from "../texts/frame.ts";
import { unclaimed } from "../texts/sign-in.ts";

/** Null: not asked yet. */
const claimed = signal<boolean | null>(null);

/** On a first visit: how to close the door that stands open behind you. */
export function Unclaimed() {
  const made = useSignal<string | null>(null);
  useEffect(() => {
    if (token.value === null) void look();
  }, []);
  const make = async (): Promise<void> => {
    const reply = await done(admin.access.tokens.post({ name: "page" }));
    made.value = reply.token;
    claimed.value = true;
    signIn(reply.token);
    void watch();
  };
  if (made.value !== null) {
    const close = (): void => {
      made.value = null;
    };
    return <ShownOnce {...unclaimed.made} secret={made.value} onClose={close} />;
  }
  if (claimed.value !== false || token.value !== null) return null;
  return (
    <Notice kind="warn" title={unclaimed.title}>
      <p>{unclaimed.text}</p>
      <Button kind="main" onClick={make}>
        {unclaimed.make}
      </Button>
      <p class="hint">{frame.onTerminal}</p>
      <Command text={unclaimed.command} />
    </Notice>
  );
}

async function look(): Promise<void> {
  try {
    claimed.value = (await done(admin.access.get())).credential_required;
  } catch {
    // Whoever is not let in has the sign-in before them already.
  }
}
