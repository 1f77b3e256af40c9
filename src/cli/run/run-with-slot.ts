import { SECOND, MINUTE } from "../../domain/time.ts";
import type { Environment } from "../../platform/environment.ts";
import { printNote, printWarning, StatusLine } from "../frame/terminal.ts";
import { claimSlot } from "./claim-slot.ts";
import { CommandProcess } from "./command-process.ts";
import { SlotKeeper } from "./keep-slot.ts";
import type { Slot } from "./claim-reply.ts";
import type { LicenseClient } from "./license-client.ts";
import { SignalRelay, WaitInterrupted } from "./signal-relay.ts";

export interface RunRequest {
  readonly command: readonly string[];
  readonly environment: Environment;
  readonly product: string;
  readonly user: string;
  /** In milliseconds; 0: not at all. */
  readonly wait: number;
  readonly onLoss: "warn" | "stop" | "kill";
  readonly isQuiet: boolean;
}

/** A terminal shows the position, so it is read more often. */
const SECONDS_PER_CALL = { terminal: 15, log: 50 };
const LEAVE_TIME = 3 * SECOND;

/** Holds a slot while a command runs, and returns the exit code of the command. */
export async function runWithSlot(client: LicenseClient, request: RunRequest): Promise<number> {
  const signals = new SignalRelay();
  let slot: Slot;
  try {
    slot = await waitForSlot(client, request, signals);
  } catch (error) {
    // It may have a place in the queue, and even a slot if a reply was lost.
    await client.unregister(AbortSignal.timeout(LEAVE_TIME));
    if (error instanceof WaitInterrupted) return error.exitCode;
    throw error;
  }
  const note = (text: string): void => {
    if (!request.isQuiet) printNote(`${request.product}: ${text}`);
  };
  let command: CommandProcess | null = null;
  let end: Awaited<ReturnType<CommandProcess["waitForEnd"]>> | null = null;
  const keeper = new SlotKeeper(client, slot, request.wait > 0, {
    note,
    lost(reason) {
      printWarning(
        `the slot of ${request.product} is lost: ${reason}; ${LOSS_TEXTS[request.onLoss]}`,
      );
      if (request.onLoss === "stop") command?.stop();
      if (request.onLoss === "kill") command?.send("SIGKILL");
    },
  });
  try {
    const environment = { ...request.environment, ...describeSlot(request, slot) };
    command = new CommandProcess(request.command, environment, signals.ignored);
    signals.relayTo(command, () => keeper.renewNow());
    end = await command.waitForEnd();
    return end.exitCode;
  } finally {
    if (!(await keeper.release())) {
      printWarning(`the slot of ${request.product} was not released; it ends at ${keeper.end}`);
    }
    signals.close();
    // A shell ends a loop of commands only if the command was ended by Ctrl-C, and not with 130.
    if (end?.signal === "SIGINT") process.kill(process.pid, "SIGINT");
  }
}

const LOSS_TEXTS = {
  warn: "the command continues without it",
  stop: "the command is stopped",
  kill: "the command is killed",
} as const;

/** Variables for the command. They are no options, so commands of Berth inside are not affected. */
const describeSlot = ({ user, product }: RunRequest, slot: Slot): Environment => ({
  BERTH_RUN_USER: user,
  BERTH_RUN_PRODUCT: product,
  BERTH_RUN_SERVER: slot.server,
  BERTH_RUN_LICENSE_ID: String(slot.licenseId),
});

async function waitForSlot(
  client: LicenseClient,
  { product, wait, isQuiet }: RunRequest,
  { waitSignal }: SignalRelay,
): Promise<Slot> {
  const line = new StatusLine();
  let reportedAt = Number.NEGATIVE_INFINITY;
  try {
    const slot = await claimSlot(client, {
      product,
      wait,
      secondsPerCall: SECONDS_PER_CALL[line.isOnTerminal ? "terminal" : "log"],
      signal: waitSignal,
      report(text) {
        const isDue = line.isOnTerminal || performance.now() - reportedAt >= MINUTE;
        if (isQuiet || !isDue) return;
        reportedAt = performance.now();
        line.show(text);
      },
    });
    // A signal may have come after the reply.
    waitSignal.throwIfAborted();
    return slot;
  } finally {
    line.clear();
  }
}
