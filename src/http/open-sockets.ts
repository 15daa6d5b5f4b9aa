import type { UwsSocket } from '#http/uws-socket'
import type { World } from '#runtime/world'

/** The number of sockets closed before other work runs. */
const batchCount = 200

/** All open sockets of a server. */
export class OpenSockets {
  readonly #world: World
  readonly #open = new Set<UwsSocket>()

  constructor(world: World) {
    this.#world = world
  }

  get size(): number {
    return this.#open.size
  }

  add(socket: UwsSocket): void {
    this.#open.add(socket)
  }

  remove(socket: UwsSocket): void {
    this.#open.delete(socket)
  }

  /**
   * Closes all sockets that are open now, in batches, so that timers and answers run in between. Over a copy: ending a
   * socket runs its room's `closed` at once, which may end others.
   */
  async closeAll(code: number, reason: string): Promise<void> {
    const sockets = [...this.#open]
    for (let start = 0; start < sockets.length; start += batchCount) {
      for (const socket of sockets.slice(start, start + batchCount)) socket.end(code, reason)
      await new Promise<void>((resolve) => {
        this.#world.after(0, resolve)
      })
    }
  }
}
