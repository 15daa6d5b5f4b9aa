import { replicatedPlace } from '#cluster/replicated-place'
import type { Storage } from '#runtime/storage'
import { everyonesLease, SimulatedLog } from '#test/cluster/simulated-log'
import type { SimulatedWorld } from '#test/simulation/simulated-world'
import { type MemoryPlace, type MemoryPlaceOptions, memoryPlace } from '#test/store/memory'

const partBytesMax = 200

/**
 * The store of a server on one of three nodes, which share a log. After a crash the server continues on another node,
 * which has only the log to learn from.
 */
export class SimulatedNodes implements MemoryPlace {
  readonly keepsEpoch = true
  readonly #world: SimulatedWorld
  readonly #log: SimulatedLog
  readonly #disks: readonly MemoryPlace[]
  #current = 0
  #process: ReturnType<SimulatedWorld['process']> | undefined

  constructor(world: SimulatedWorld, options: MemoryPlaceOptions) {
    this.#world = world
    const servers = world.process().world
    this.#log = new SimulatedLog(servers, { lostAnswer: 0.02, lateCopy: 0.02, ignoredOrder: 0.2, stall: 0 })
    this.#disks = Array.from({ length: 3 }, () => memoryPlace(options))
  }

  get hasHeadroom(): boolean {
    return this.#disk.hasHeadroom
  }

  async open(): Promise<Storage> {
    this.#process ??= this.#world.process()
    const { world } = this.#process
    const node = { world, log: this.#log.of(world), lease: everyonesLease, node: `${this.#current}`, partBytesMax }
    return await replicatedPlace({ ...node, place: this.#disk }).open()
  }

  hasRoom(): Promise<boolean> {
    return this.#disk.hasRoom()
  }

  releaseHeadroom(): Promise<void> {
    return this.#disk.releaseHeadroom()
  }

  restoreHeadroom(): Promise<void> {
    return this.#disk.restoreHeadroom()
  }

  setRoom(hasRoom: boolean): void {
    this.#disk.setRoom(hasRoom)
  }

  crash(writesKept = 0): void {
    this.#process?.kill()
    this.#process = undefined
    this.#disk.crash(writesKept)
    this.#current = this.#world.random.below(this.#disks.length)
  }

  losePower(): void {
    this.#process?.kill()
    this.#process = undefined
    this.#disk.losePower()
  }

  get #disk(): MemoryPlace {
    return this.#disks[this.#current] as MemoryPlace
  }
}
