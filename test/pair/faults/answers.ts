// Which of two hosts answered, in an order that is certain: an answer is after another one if it was
// sent when the other one had arrived.

export interface Answer {
  readonly host: string;
  readonly sentAt: number;
  readonly arrivedAt: number;
}

export class AnswerOrder {
  /** The hosts in the order in which they answered for certain; neighbours differ. */
  #hosts: string[] = [];
  #last: Answer | null = null;

  record(answer: Answer): void {
    if (this.#last !== null) {
      if (answer.host === this.#last.host || answer.sentAt <= this.#last.arrivedAt) return;
    }
    this.#last = answer;
    this.#hosts.push(answer.host);
  }

  /** Begins again with the host that answered last. */
  takeHosts(): readonly string[] {
    const hosts = this.#hosts;
    this.#hosts = hosts.slice(-1);
    return hosts;
  }
}

/** Whether hosts answered only in the order in which they led; neither list repeats a host. */
export function isOrderOfLeaders(hosts: readonly string[], leaders: readonly string[]): boolean {
  let next = 0;
  for (const host of hosts) {
    const index = leaders.indexOf(host, next);
    if (index === -1) return false;
    next = index;
  }
  return true;
}
