import { type ActorAddress, addressFrom, addressKey } from '#runtime/actor'
import { type Due, DueQueue, unplaced } from '#runtime/due-queue'
import type { World } from '#runtime/world'

/**
 * The deadlines at which actors get a `reminder_due` command, one for each actor. Kept in memory in the order of time;
 * the turn that sets a deadline also stores it. Reminders that became due while the server was down fire when it
 * starts.
 */
export class Reminders {
  /** By `addressKey`. Items are kept small (about 170 bytes), because many reminders wait for a day. */
  readonly #queue: DueQueue<Due>

  constructor(world: World, fire: (address: ActorAddress, dueAt: number) => void) {
    this.#queue = new DueQueue(world, 'now', ({ key, at }) => fire(addressFrom(key), at))
    // Reminders are only collected until `start`.
    this.#queue.stop()
  }

  get count(): number {
    return this.#queue.size
  }

  dueAt(address: ActorAddress): number | undefined {
    return this.#queue.get(addressKey(address))?.at
  }

  set(address: ActorAddress, dueAt: number | null): void {
    const key = addressKey(address)
    if (dueAt === null) this.#queue.delete(key)
    else this.#queue.put(this.#queue.get(key) ?? reminderOf(address), dueAt)
  }

  /** Drops all reminders of a tenant in memory. Stored ones stay, and the next start would read them. */
  dropTenant(tenant: string): void {
    for (const { key } of this.#queue) if (addressFrom(key).tenant === tenant) this.#queue.delete(key)
  }

  /** Begins to fire. Before this, reminders are only collected. */
  start(): void {
    this.#queue.start()
  }

  /** Drops all reminders in memory. Later ones are only collected until `start`. */
  clear(): void {
    this.#queue.stop()
  }
}

function reminderOf({ kind, tenant, id }: ActorAddress): Due {
  // `join` creates a flat string. A concatenation would keep its parts: 130 bytes more.
  return { key: [kind, tenant, id].join('/'), ...unplaced }
}

/** A stored reminder is its deadline, Unix ms. */
export const reminderFormat = { name: 'reminder', version: 1, upgrades: {} }
