import type { CommandRunner } from "../../src/operations/command-runner.ts";
import { QueueDispatcher } from "../../src/operations/queue/queue-dispatcher.ts";
import { SlotQueue } from "../../src/operations/queue/slot-queue.ts";
import type { Store } from "../../src/store/store.ts";

/** The queue of a store without waiting users. */
export const makeSlotQueue = (store: Store, commands: CommandRunner): SlotQueue =>
  new SlotQueue({
    store,
    commands,
    dispatcher: new QueueDispatcher(),
    estimator: { estimate: () => null },
  });
