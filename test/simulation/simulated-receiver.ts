import type { SeededRandom } from '#bench/random'

/** Receives messages of the server. It outlives the processes that use it. */
export abstract class SimulatedReceiver<Message, Watcher extends ReceiverWatcher<Message>> {
  watcher: Watcher | undefined
  /** Accepts everything that is valid. */
  isHealthy = false
  protected readonly random: SeededRandom
  /** The messages that were sent and have no result so far; true: the message has arrived. */
  protected readonly sent = new Map<Message, boolean>()

  constructor(random: SeededRandom) {
    this.random = random
  }

  /** The number of messages without a result. */
  get underWay(): number {
    return this.sent.size
  }

  /** Messages in progress arrive or are lost. */
  senderDied(): void {
    for (const [message, hasArrived] of this.sent)
      if (!hasArrived && this.random.next() < 0.5) this.watcher?.arrived(message)
    this.sent.clear()
    this.watcher?.senderDied()
  }

  protected arrives(message: Message): void {
    this.sent.set(message, true)
    this.watcher?.arrived(message)
  }
}

/** Observes the messages of a receiver. */
export interface ReceiverWatcher<Message> {
  /** A message is handed over: the permissions at this moment count. */
  handed(message: Message): void
  /** A message arrived; the sender may not know that. */
  arrived(message: Message): void
  /** The sending process is dead. */
  senderDied(): void
}
